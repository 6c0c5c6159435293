import type { JsonObject } from '../../contract/json.ts'
import { DIRECTORY_KEYS } from '../check/directory.ts'
import { ROUTING_KEYS } from '../check/routing.ts'
import { list, schemaOf, type Names } from '../check/spec.ts'
import { TOOL_KEYS } from '../check/tool.ts'
import { SCHEMA_FORMATS } from '../schema/formats.ts'
import { SCHEMA_KEYWORDS, type KeywordKind } from '../schema/check.ts'

/** The schemas of files that do not depend on contracts. */

const DRAFT = 'http://json-schema.org/draft-07/schema#'
export const toolSchema = (): JsonObject => ({
  $schema: DRAFT,
  title: 'Countersign tool contract',
  ...schemaOf(TOOL_KEYS),
  definitions: { schema: inputSchema() },
})

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
