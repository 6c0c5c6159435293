import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import { SCHEMA_KEYWORDS } from '../schema/check.ts'
import { type Part } from './subschema.ts'

/** Keywords that do not affect which values fit. The effect of defaults on rules is compared separately. */
const WORDS: readonly string[] = [
  '$schema',
  '$comment',
  'title',
  'description',
  'default',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
]
const DEFINITIONS: readonly string[] = ['$defs', 'definitions']
/** Keywords that are compared field by field. */
const BY_FIELD: readonly string[] = ['type', 'properties', 'required', 'additionalProperties']

/** Returns the schema and its definitions as text, without WORDS. Parts with equal text accept the same values. */
export function acceptanceOf({ root, schema }: Part): string {
  const own = without(schema, DEFINITIONS)
  const refers = JSON.stringify(own).includes('"$ref"')
  return JSON.stringify([own, ...(refers ? DEFINITIONS.map((name) => definitionsIn(root[name])) : [])])
}

/** Returns the text of acceptanceOf for the keywords of a contract that are not in BY_FIELD. */
export function wholeAcceptanceOf({ root, schema }: Part): string {
  if (!isObject(schema)) return ''
  const beside = Object.entries(schema).filter(([keyword]) => !BY_FIELD.includes(keyword))
  return acceptanceOf({ root, schema: Object.fromEntries(beside), exact: true })
}

function definitionsIn(schemas: JsonValue | undefined): JsonValue {
  return isObject(schemas) ? mapped(schemas, (one) => without(one)) : null
}

function without(schema: JsonValue, more: readonly string[] = []): JsonValue {
  if (!isObject(schema)) return schema
  const entries = Object.entries(schema).filter(([keyword]) => ![...WORDS, ...more].includes(keyword))
  return Object.fromEntries(entries.map(([keyword, value]) => [keyword, inKeyword(keyword, value)]))
}

function inKeyword(keyword: string, value: JsonValue): JsonValue {
  const kind = SCHEMA_KEYWORDS.get(keyword)
  if (kind === 'schema') return without(value)
  if (kind === 'schemas') return (value as readonly JsonValue[]).map((one) => without(one))
  return kind === 'schemaMap' && isObject(value) ? mapped(value, (one) => without(one)) : value
}

const mapped = (schemas: JsonObject, by: (one: JsonValue) => JsonValue): JsonObject =>
  Object.fromEntries(Object.entries(schemas).map(([name, one]) => [name, by(one)]))
