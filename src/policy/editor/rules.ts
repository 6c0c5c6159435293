import { closed, DURATION as DURATION_VALUE } from '../check/spec.ts'
import { defined } from '../../contract/defined.ts'
import type { JsonObject } from '../../contract/json.ts'
import { RISKS, VERDICTS } from '../../domain/decision.ts'
import { MAX_APPROVALS, MAX_REASON_CHARACTERS } from '../text/bounds.ts'
import { ANY_INDEX, ANYTHING, payloadPaths, type PayloadPath } from './shapes.ts'
import { createDefinitions, type EditorLists, type TestSchemas } from './tests.ts'
import { FACT_NAMES, factsUnder, isNeverScope } from '../language/facts.ts'
import { entrySchema, matchSchema, missingMeansSchema } from './match.ts'
import { embedSchema } from './payload.ts'
import { RULE_ID } from '../yaml/shape.ts'
import type { ToolContract } from '../language/snapshot.ts'
import { WEEKDAYS } from '../language/time.ts'

/** The contracts and names that a rule may use. */
export interface EditorWorld {
  readonly tools: readonly ToolContract[]
  readonly lists: EditorLists
  readonly groups: readonly string[]
}

const ANY_TOOL = 'any tool'

/** Returns the schema of rule files. For each tool, the schema has the fields, tests and payloads of the contract. */
export function ruleFileSchema(world: EditorWorld): JsonObject {
  const schemas: TestSchemas = {
    definitions: createDefinitions(),
    lists: world.lists,
    entryMatch: entrySchema,
  }
  const names = world.tools.map(({ name }) => name)
  const perTool = world.tools.map((tool) => {
    const names = { properties: { tool: { const: tool.name } }, required: ['tool'] }
    return implies(names, partsFor(schemas, world, tool))
  })
  const several = implies({ required: ['tools'] }, partsFor(schemas, world, undefined))
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Countersign rule file',
    type: 'object',
    additionalProperties: false,
    required: ['rules'],
    properties: {
      tool: { enum: names, description: 'The tool that the rules are for.' },
      tools: {
        type: 'array',
        minItems: 1,
        items: { type: 'string', pattern: '^[A-Za-z0-9_.:/*-]{1,128}$' },
        description: 'Tools that the rules are for; `*` is any run of characters.',
      },
      owner: { type: 'string', minLength: 1, description: 'Who answers for the rules.' },
      missing_means: {
        type: 'object',
        description: 'What a tool does when an optional argument is left out.',
      },
      mode: {
        const: 'shadow',
        description: 'Shadow mode: the file decides nothing, and its rules are counted.',
      },
      conditions: {
        type: 'object',
        propertyNames: { pattern: RULE_ID.pattern.source },
        description: 'Conditions with a name, which the matches of this file may use.',
      },
      rules: { type: 'array', minItems: 1 },
      limits: { type: 'array', minItems: 1 },
      tests: { type: 'array' },
    },
    oneOf: [{ required: ['tool'] }, { required: ['tools'] }],
    allOf: [...perTool, several],
    definitions: schemas.definitions.all,
  }
}

/**
 * Split from a string, because an object literal with a `then` member looks like a promise. No code awaits these
 * objects.
 */
const [IF, THEN] = 'if then'.split(' ') as [string, string]

function implies(condition: JsonObject, consequence: JsonObject): JsonObject {
  return { [IF]: condition, [THEN]: consequence }
}

/** Returns the schemas of the parts of a rule file that depend on its tool. */
function partsFor(schemas: TestSchemas, world: EditorWorld, tool: ToolContract | undefined): JsonObject {
  const { definitions } = schemas
  const name = tool?.name ?? ANY_TOOL
  const paths = tool ? payloadPaths(tool.inputSchema) : [{ name: 'payload', shape: ANYTHING, open: true }]
  const match = definitions.named(`match ${name}`, () => matchSchema(schemas, name, paths))
  const rule = definitions.named(`rule ${name}`, () => ruleSchema(match, world.groups))
  const limit = definitions.named(`limit ${name}`, () => limitSchema(paths))
  const test = definitions.named(`case ${name}`, () => caseSchema(world, tool))
  return {
    properties: {
      missing_means: missingMeansSchema(paths),
      conditions: { additionalProperties: match },
      rules: { items: rule },
      limits: { items: limit },
      tests: { items: test },
    },
  }
}

const VERDICT_TEXTS: Readonly<Record<string, string>> = {
  allow: 'The call may run. The reason is shown to agents and reviewers.',
  review: 'People decide. The reason is shown to agents and reviewers.',
  reject: 'The call never runs. The reason is shown to agents and reviewers.',
}

function verdicts(
  which: readonly string[],
  what: string,
): { properties: JsonObject; oneOf: readonly JsonObject[] } {
  const text = { type: 'string', minLength: 1, maxLength: MAX_REASON_CHARACTERS }
  const properties = which.map((one) => [
    one,
    { ...text, description: what === 'rule' ? VERDICT_TEXTS[one] : 'What the test shows.' },
  ])
  return {
    properties: Object.fromEntries(properties) as JsonObject,
    oneOf: which.map((one) => ({ required: [one] })),
  }
}

const ID: JsonObject = {
  type: 'string',
  pattern: RULE_ID.pattern.source,
  description: 'Kebab-case, unique in the bundle.',
}
const DURATION = DURATION_VALUE.schema as JsonObject
const RISK: JsonObject = { enum: RISKS }
const DATE: JsonObject = { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}$' }
const SHADOW: JsonObject = { const: 'shadow', description: 'Counted, not enforced.' }

function ruleSchema(match: JsonObject, groups: readonly string[]): JsonObject {
  const { properties, oneOf } = verdicts(VERDICTS, 'rule')
  return {
    oneOf,
    ...closed(['id'], {
      id: ID,
      ...properties,
      when: { allOf: [match], description: 'The rule means `when AND NOT unless`.' },
      unless: { allOf: [match], description: 'The rule means `when AND NOT unless`.' },
      unknown: {
        const: 'review',
        description: 'For a reject rule: reviewers decide when the rule cannot be checked.',
      },
      risk: { ...RISK, description: 'Raises the risk of the call when the rule fires.' },
      reviewers: {
        ...closed(['group'], {
          group: groups.length > 0 ? { enum: groups } : { type: 'string' },
          approvals: { type: 'integer', minimum: 1, maximum: MAX_APPROVALS },
          interactive: { type: 'boolean', description: 'Whether a vote needs a sign-in to the console.' },
          expires: DURATION,
        }),
        description: 'In addition to the levels of routing.yaml.',
      },
      mode: SHADOW,
      from: { ...DATE, description: 'The first day of the rule.' },
      until: { ...DATE, description: 'The last day of the rule.' },
    }),
  }
}

const PAYLOAD_FIELD: JsonObject = { type: 'string', pattern: '^payload[.[]' }

/** Returns the schema of a limit, which counts calls or sums a number of the payload. */
function limitSchema(paths: readonly PayloadPath[]): JsonObject {
  const { properties, oneOf } = verdicts(['review', 'reject'], 'rule')
  const numbers = paths
    .filter(
      ({ shape, name }) => shape.kinds.includes('number') && !name.includes(ANY_INDEX) && name !== 'payload',
    )
    .map(({ name }) => name)
  const fields = paths
    .slice(1)
    .map(({ name }) => name)
    .filter((name) => !name.includes(ANY_INDEX))
  const facts = FACT_NAMES.filter((name) => !isNeverScope(name))
  const per = ['agent', 'tenant', 'task', ...facts, ...fields]
  const open = paths.some((path) => path.open)
  return {
    allOf: [{ oneOf }, { oneOf: [{ required: ['count'] }, { required: ['sum'] }] }],
    ...closed(['id', 'at_most', 'within', 'per'], {
      id: ID,
      ...properties,
      risk: { ...RISK, description: 'Raises the risk of the call when the limit is reached.' },
      mode: SHADOW,
      count: { const: 'calls', description: 'Counts calls.' },
      sum: { ...(numbers.length > 0 ? { enum: numbers } : PAYLOAD_FIELD), description: 'Sums a field.' },
      at_most: { type: 'number', minimum: 0 },
      within: DURATION,
      per: {
        ...(open ? { type: 'string', examples: per } : { enum: per }),
        description: 'The field whose values are counted separately.',
      },
    }),
  }
}

/** Returns the facts that a test sets. It may name agents and tenants that the pattern of a fact does not know. */
function settable(place: 'agent' | 'task'): JsonObject {
  const schemas = [...factsUnder(place)].map(([key, { schema }]) => [
    key,
    defined({ ...schema, pattern: undefined }),
  ])
  return Object.fromEntries(schemas) as JsonObject
}

function caseSchema({ tools }: EditorWorld, tool: ToolContract | undefined): JsonObject {
  const { properties, oneOf } = verdicts(VERDICTS, 'test')
  const text = { type: 'string' }
  return {
    oneOf,
    ...closed([], {
      ...properties,
      payload: tool ? embedSchema(tool.inputSchema) : { type: 'object' },
      tool: { enum: tool ? [tool.name] : tools.map(({ name }) => name) },
      agent: {
        anyOf: [text, closed([], settable('agent'))],
      },
      task: closed([], settable('task')),
      used: {
        type: 'object',
        additionalProperties: { type: 'number', minimum: 0 },
        description: 'Earlier charges, by limit id.',
      },
      risk_level: { ...RISK, description: 'What the agent claims.' },
      time: {
        anyOf: [
          { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}$' },
          closed([], { weekday: { enum: WEEKDAYS }, hour: { type: 'integer', minimum: 0, maximum: 23 } }),
        ],
      },
      risk: { ...RISK, description: 'The expected risk.' },
      by: { type: 'array', items: text, description: 'Exactly the deciding ids.' },
    }),
  }
}
