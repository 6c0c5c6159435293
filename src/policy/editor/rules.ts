import { CASE_KEYS } from '../check/case.ts'
import { LIMIT_KEYS } from '../check/limit.ts'
import { RULE_KEYS } from '../check/rule.ts'
import { RULE_FILE_KEYS } from '../check/rules.ts'
import { schemaOf } from '../check/spec.ts'
import type { JsonObject } from '../../contract/json.ts'
import { VERDICTS } from '../../domain/decision.ts'
import { ANY_INDEX, ANYTHING, payloadPaths, type PayloadPath } from './shapes.ts'
import { createDefinitions, type EditorLists, type TestSchemas } from './tests.ts'
import { FACT_NAMES, isNeverScope } from '../language/facts.ts'
import { entrySchema, matchSchema, missingMeansSchema } from './match.ts'
import { embedSchema } from './payload.ts'
import type { ToolContract } from '../language/snapshot.ts'

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
  const parts = { ...NO_PARTS, tool: { enum: names } }
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Countersign rule file',
    ...schemaOf(RULE_FILE_KEYS, { ...world, parts }),
    oneOf: [{ required: ['tool'] }, { required: ['tools'] }],
    allOf: [...perTool, several],
    definitions: schemas.definitions.all,
  }
}

const NO_PARTS = { tool: {}, match: {}, sum: {}, per: {}, payload: {} }

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
  const parts = {
    tool: { enum: tool ? [tool.name] : world.tools.map((one) => one.name) },
    match,
    payload: tool ? embedSchema(tool.inputSchema) : { type: 'object' },
    ...scopesOf(paths),
  }
  const named = { groups: world.groups, parts }
  const rule = definitions.named(`rule ${name}`, () => ({
    oneOf: oneOfKeys(VERDICTS),
    ...schemaOf(RULE_KEYS, named),
  }))
  const limit = definitions.named(`limit ${name}`, () => ({
    allOf: [oneOfKeys(['review', 'reject']), oneOfKeys(['count', 'sum'])].map((oneOf) => ({ oneOf })),
    ...schemaOf(LIMIT_KEYS, named),
  }))
  const test = definitions.named(`case ${name}`, () => ({
    oneOf: oneOfKeys(VERDICTS),
    ...schemaOf(CASE_KEYS, named),
  }))
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

const oneOfKeys = (names: readonly string[]): readonly JsonObject[] =>
  names.map((name) => ({ required: [name] }))

/** Returns the schemas of `sum` and `per`: a number of the payload, and what has one value. */
function scopesOf(paths: readonly PayloadPath[]): { readonly sum: JsonObject; readonly per: JsonObject } {
  const single = paths.filter(({ name }) => name !== 'payload' && !name.includes(ANY_INDEX))
  const numbers = single.filter(({ shape }) => shape.kinds.includes('number')).map(({ name }) => name)
  const facts = FACT_NAMES.filter((name) => !isNeverScope(name))
  const per = ['agent', 'tenant', 'task', ...facts, ...single.map(({ name }) => name)]
  return {
    sum: numbers.length > 0 ? { enum: numbers } : { type: 'string', pattern: '^payload[.[]' },
    per: paths.some(({ open }) => open) ? { type: 'string', examples: per } : { enum: per },
  }
}
