import type { JsonObject, JsonValue } from '../../contract/json.ts'

/**
 * An input_schema as part of a draft-07 schema: with local references replaced by what they name, as far down as no reference leads
 * back to itself, and without what draft-07 or the regular expressions of an editor do not know. Never stricter than the contract.
 */
export function embedSchema(schema: JsonObject): JsonObject {
  return embed({ root: schema, followed: [] }, schema) as JsonObject
}

interface Embedding {
  readonly root: JsonObject
  readonly followed: readonly string[]
}

/** Keywords that draft-07 does not have, or that mean something else there. */
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
  const target = embedding.followed.includes($ref) ? undefined : resolve(embedding.root, $ref)
  if (target === undefined) return own
  return { allOf: [embed({ ...embedding, followed: [...embedding.followed, $ref] }, target), own] }
}

function embedKeywords(embedding: Embedding, schema: JsonObject): JsonObject {
  const entries = Object.entries(schema).flatMap(([key, value]): [string, JsonValue][] => {
    if (LATER.has(key) || (key === 'items' && 'prefixItems' in schema)) return []
    // Later members may be added by what is left out here.
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

/** The contract's patterns are RE2; an editor has the ones of JavaScript. */
function isRegExp(source: string): boolean {
  try {
    return new RegExp(source, 'u').source !== ''
  } catch {
    return false
  }
}

function resolve(root: JsonObject, ref: string): JsonValue | undefined {
  const match = /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(ref)
  const defs = match ? (root[match[1] ?? ''] as JsonObject | undefined) : undefined
  return defs?.[match?.[2] ?? '']
}
