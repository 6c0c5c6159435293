import { RETENTION, RETENTION_KINDS, type RetentionKind } from '../language/retention.ts'
import { duration, WEEKDAYS } from '../language/time.ts'
import type { JsonObject } from '../../contract/json.ts'
import { BUDGET_NAMES } from '../../domain/budget.ts'
import { SERVER_NAME, TOOL_DIGEST } from '../../contract/tool-source.ts'
import { RISKS } from '../../domain/decision.ts'
import { MAX_APPROVALS, MAX_COMMENT_CHARACTERS, MAX_COMMENTS } from '../text/bounds.ts'
import { PROOFS } from '../language/proof.ts'
import { REVERSIBILITIES } from '../language/reversibility.ts'
import { DISCLOSE, WORDS_KEPT } from '../language/disclose.ts'
import { AGENT_KEYS, REVIEWER_KEYS } from '../check/directory-keys.ts'
import { closed, DURATION, list, name, schemaOf, text } from '../check/spec.ts'
import { SCHEMA_FORMATS } from '../schema/formats.ts'
import { SCHEMA_KEYWORDS, type KeywordKind } from '../schema/check.ts'
import { PERSON_NAME, TENANT_NAME, TOOL_NAME, WORD, type NamePattern } from '../yaml/shape.ts'

/** The schemas of files that do not depend on contracts. */

const DRAFT = 'http://json-schema.org/draft-07/schema#'
export function toolSchema(): JsonObject {
  return {
    $schema: DRAFT,
    title: 'Countersign tool contract',
    ...closed(['tool', 'description', 'risk', 'input_schema'], {
      tool: name(TOOL_NAME),
      description: text('What the tool does.'),
      summary: text('What a call does, in one line: `Transfer {amount_cents|money:currency} to {to}`.'),
      risk: { enum: RISKS, description: 'The baseline: rules can raise it.' },
      reversibility: { enum: REVERSIBILITIES },
      proof: {
        enum: PROOFS,
        description: '`always`: an allowed call needs a proof too, so that a repeated call runs once.',
      },
      outcome: {
        type: 'string',
        pattern: '^expected within [1-9][0-9]{0,8}[smhd]$',
        description:
          'Agents report how each call ended, within this time. Otherwise History lists the call: `expected within 10m`.',
      },
      labels: list(name(WORD)),
      sensitive: {
        ...list({ type: 'string', pattern: '^payload[.[]' }),
        description: 'Never in logs, webhooks or evidence in clear.',
      },
      disclose: {
        type: 'object',
        propertyNames: { pattern: '^payload[.[]' },
        additionalProperties: { enum: DISCLOSE },
        description:
          'What evidence keeps of a field: its value (`full`), only its name (`masked`), or nothing (`none`). Without an entry: `full` for fields that rules read.',
      },
      source: {
        ...closed(['server', 'name'], {
          server: { type: 'string', pattern: SERVER_NAME.source },
          name: text('As the server calls the tool.'),
          digest: { type: 'string', pattern: TOOL_DIGEST.source },
          confirmed: {
            type: 'boolean',
            description: 'A person has confirmed the effects that the server declares.',
          },
        }),
        description: 'Which tool of which MCP server this is; `countersign add tool` writes it.',
      },
      input_schema: {
        allOf: [{ $ref: '#/definitions/schema' }],
        type: 'object',
        properties: { type: { const: 'object' } },
      },
    }),
    definitions: { schema: inputSchema() },
  }
}

/** Returns the schema of the keywords of JSON Schema that a contract may use. */
function inputSchema(): JsonObject {
  const self = { $ref: '#/definitions/schema' }
  const maps = { type: 'object', additionalProperties: self }
  const kinds: Readonly<Record<KeywordKind, JsonObject>> = {
    schema: self,
    schemas: { type: 'array', minItems: 1, items: self },
    schemaMap: maps,
    count: { type: 'integer', minimum: 0 },
    number: { type: 'number' },
    text: { type: 'string' },
    texts: list({ type: 'string' }),
    textsMap: { type: 'object', additionalProperties: list({ type: 'string' }) },
    boolean: { type: 'boolean' },
    any: {},
    values: { type: 'array' },
    type: { anyOf: [{ enum: TYPES }, { type: 'array', minItems: 1, items: { enum: TYPES } }] },
    pattern: { type: 'string', minLength: 1 },
    format: { enum: SCHEMA_FORMATS },
    ref: { type: 'string', pattern: '^#/(?:\\$defs|definitions)/' },
    enum: { type: 'array', minItems: 1 },
  }
  const properties = Object.fromEntries([...SCHEMA_KEYWORDS].map(([keyword, kind]) => [keyword, kinds[kind]]))
  return { type: ['object', 'boolean'], additionalProperties: false, properties }
}

const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string']

const retentionSchema = (kind: RetentionKind): JsonObject => {
  const { default: otherwise, least, stays } = RETENTION[kind]
  const bounds = `at least ${duration(least)}, at most 3660d, ${duration(otherwise)} by default`
  return { ...DURATION, description: `How long ${stays}: ${bounds}.` }
}

export function routingSchema(groups: readonly string[]): JsonObject {
  const level = levelSchema(groups)
  return {
    $schema: DRAFT,
    title: 'Countersign routing.yaml',
    ...closed(['levels'], {
      unmatched: { enum: ['reject', 'review'], description: 'The verdict on a call that no rule covers.' },
      allow_up_to: { enum: RISKS, description: 'The gateway holds an allowed call of a higher risk.' },
      timezone: text('An IANA name, such as Europe/Berlin; for time.*, from and until.'),
      levels: closed(RISKS, Object.fromEntries(RISKS.map((risk) => [risk, level]))),
      retention: {
        ...closed([], Object.fromEntries(RETENTION_KINDS.map((kind) => [kind, retentionSchema(kind)]))),
        description: 'How long the gateway keeps data after its end.',
      },
      disclose: {
        ...closed([], { comments: { enum: WORDS_KEPT }, agent_words: { enum: WORDS_KEPT } }),
        description: 'Whether evidence keeps comments of reviewers, and words of agents: `full` by default.',
      },
      lists: {
        type: 'object',
        propertyNames: { pattern: WORD.pattern.source },
        additionalProperties: {
          type: 'array',
          minItems: 1,
          items: { type: ['string', 'number', 'boolean'] },
        },
        description: 'What rules name by `$list`.',
      },
      budgets: {
        ...closed(
          [],
          Object.fromEntries(BUDGET_NAMES.map((name) => [name, { type: 'integer', minimum: 1 }])),
        ),
        description:
          'What one tenant, agent or reviewer may hold; at most what the settings of the gateway say.',
      },
    }),
  }
}

const DAYS = WEEKDAYS.join('|')

function levelSchema(groups: readonly string[]): JsonObject {
  const group = groups.length > 0 ? { enum: groups } : name(WORD)
  const step = closed(['after', 'group'], { after: DURATION, group })
  return closed(['group', 'approvals', 'expires'], {
    group: { ...group, description: 'Who reviews.' },
    approvals: {
      type: 'integer',
      minimum: 1,
      maximum: MAX_APPROVALS,
      description: 'How many of them must approve.',
    },
    interactive: {
      type: 'boolean',
      description: 'Whether a vote needs a sign-in to the console; a key is not enough.',
    },
    expires: DURATION,
    remind_after: DURATION,
    escalate: { anyOf: [step, list(step)], description: 'Who may step in, and when.' },
    working: {
      ...closed(['days', 'hours'], {
        days: list({ type: 'string', pattern: `^(?:${DAYS})(?:-(?:${DAYS}))?$` }),
        hours: { type: 'string', pattern: String.raw`^[0-2]\d:[0-5]\d-[0-2]\d:[0-5]\d$` },
        holidays: { type: 'string', pattern: String.raw`^\$`, description: 'A list of dates.' },
      }),
      description: 'The hours in which the times of the level count.',
    },
    comments: {
      ...list({ type: 'string', minLength: 1, maxLength: MAX_COMMENT_CHARACTERS }),
      maxItems: MAX_COMMENTS,
      description: 'Ready-made comments, which the keys 1 to 9 insert.',
    },
    require_comment: { type: 'boolean', description: 'Whether a rejection needs a comment.' },
    reveal: {
      enum: ['required', 'optional'],
      description: 'Whether hidden values are parts to see; required from medium risk up.',
    },
    require_displayed: {
      type: 'boolean',
      description: 'Whether an approval needs proof that each part to see was displayed.',
    },
    chat: {
      anyOf: [{ type: 'boolean' }, closed(['signed_in_within'], { signed_in_within: DURATION })],
      description:
        'Whether reviewers may decide in a chat; with a time, only if they used the console within it.',
    },
  })
}

export function directorySchema(): JsonObject {
  const entries = (pattern: NamePattern, of: JsonObject): JsonObject => ({
    type: 'object',
    propertyNames: { pattern: pattern.pattern.source },
    additionalProperties: of,
  })
  const tenant = closed([], {
    agents: entries(PERSON_NAME, schemaOf(AGENT_KEYS)),
    reviewers: entries(PERSON_NAME, schemaOf(REVIEWER_KEYS)),
  })
  return {
    $schema: DRAFT,
    title: 'Countersign directory.yaml',
    ...closed(['tenants'], {
      tenants: entries(TENANT_NAME, tenant),
      identities: closed([], {
        groups: {
          type: 'object',
          additionalProperties: name(WORD),
          description: 'Maps group names at the identity provider to groups of this directory.',
        },
      }),
    }),
  }
}
