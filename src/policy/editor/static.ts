import type { JsonObject } from '../../contract/json.ts'
import { SERVER_NAME, TOOL_DIGEST } from '../../contract/tool-source.ts'
import { RISKS } from '../../domain/decision.ts'
import { PROOFS } from '../language/proof.ts'
import { REVERSIBILITIES } from '../language/reversibility.ts'
import { DISCLOSE } from '../language/disclose.ts'
import { DIRECTORY_KEYS } from '../check/directory.ts'
import { ROUTING_KEYS } from '../check/routing.ts'
import { closed, list, name, schemaOf, TEXT, type Names } from '../check/spec.ts'
import { SCHEMA_FORMATS } from '../schema/formats.ts'
import { SCHEMA_KEYWORDS, type KeywordKind } from '../schema/check.ts'
import { TOOL_NAME, WORD } from '../yaml/shape.ts'

const text = (description: string): JsonObject => ({ ...(TEXT.schema as JsonObject), description })

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
        description: 'Which tool of which MCP server this is; `countersign import mcp` writes it.',
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

export const routingSchema = (names: Names): JsonObject => ({
  $schema: DRAFT,
  title: 'Countersign routing.yaml',
  ...schemaOf(ROUTING_KEYS, names),
})

export const directorySchema = (): JsonObject => ({
  $schema: DRAFT,
  title: 'Countersign directory.yaml',
  ...schemaOf(DIRECTORY_KEYS),
})
