import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { refTarget } from '../schema/part.ts'

/**
 * Returns an input_schema as part of a draft-07 schema. Replaces local references with their targets, except circular
 * references, and drops keywords and patterns that editors do not support. The result is never stricter than the
 * contract.
 */
export function embedSchema(schema: JsonObject): JsonObject {
  return embed({ root: schema, followed: [] }, schema) as JsonObject
}

interface Embedding {
  readonly root: JsonObject
  readonly followed: readonly string[]
}

/** Keywords that draft-07 lacks or defines differently. */
const LATER = new Set(
  '$schema $defs definitions prefixItems dependentRequired dependentSchemas unevaluatedProperties unevaluatedItems minContains maxContains'.split(
    ' ',
  ),
)
const MAPS = new Set(['properties', 'patternProperties'])
const VALUES = new Set(['enum', 'const', 'default', 'examples', 'required'])

function embed(embedding: Embedding, schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map((one: JsonValue) => embed(embedding, one))
  if (schema === null || typeof schema !== 'object') return schema
  const { $ref, ...here } = schema as JsonObject
  const own = embedKeywords(embedding, here)
  if (typeof $ref !== 'string') return own
  const target = embedding.followed.includes($ref)
    ? undefined
    : refTarget(embedding.root, schema as JsonObject)
  if (target === undefined) return own
  return { allOf: [embed({ ...embedding, followed: [...embedding.followed, $ref] }, target), own] }
}

function embedKeywords(embedding: Embedding, schema: JsonObject): JsonObject {
  const entries = Object.entries(schema).flatMap(([key, value]): [string, JsonValue][] => {
    if (LATER.has(key) || (key === 'items' && 'prefixItems' in schema)) return []
    // A dropped pattern may have permitted more members.
    if (key === 'additionalProperties' && value === false && !isSimple(schema)) return []
    if (key === 'pattern') return typeof value === 'string' && isRegExp(value) ? [[key, value]] : []
    if (VALUES.has(key)) return [[key, value]]
    if (MAPS.has(key)) return [[key, embedMap(embedding, key, value as JsonObject)]]
    return [[key, embed(embedding, value)]]
  })
  return Object.fromEntries(entries)
}

function isSimple(schema: JsonObject): boolean {
  return Object.keys((schema['patternProperties'] as JsonObject | undefined) ?? {}).every(isRegExp)
}

function embedMap(embedding: Embedding, keyword: string, map: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(map)
      .filter(([key]) => keyword === 'properties' || isRegExp(key))
      .map(([key, value]) => [key, embed(embedding, value)]),
  )
}

/** Returns true when JavaScript, which editors use, accepts a pattern. Contracts use RE2 patterns. */
function isRegExp(source: string): boolean {
  try {
    return new RegExp(source, 'u').source !== ''
  } catch {
    return false
  }
}
