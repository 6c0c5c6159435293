import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'

export const listOf = (value: JsonValue | undefined): readonly JsonValue[] =>
  Array.isArray(value) ? (value as readonly JsonValue[]) : []

/** Returns the target of a schema's local reference; undefined without a reference. */
export function refTarget(root: JsonObject, schema: JsonObject): JsonValue | undefined {
  const ref = schema['$ref']
  const match = typeof ref === 'string' ? /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(ref) : null
  const definitions = match ? root[match[1] ?? ''] : undefined
  const name = match?.[2] ?? ''
  return isObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined
}

const SAME_VALUE_LISTS = ['allOf', 'anyOf', 'oneOf']
const SAME_VALUE = ['if', 'then', 'else']

/** Returns the schemas that may apply to the same value as this one, itself included, each once. */
export function sameValueParts(root: JsonObject, schema: JsonValue | undefined): readonly JsonObject[] {
  const found = new Set<JsonObject>()
  const open: (JsonValue | undefined)[] = [schema]
  for (let part = open.pop(); part !== undefined || open.length > 0; part = open.pop()) {
    if (!isObject(part) || found.has(part)) continue
    found.add(part)
    open.push(refTarget(root, part))
    for (const keyword of SAME_VALUE) open.push(part[keyword])
    for (const keyword of SAME_VALUE_LISTS) open.push(...listOf(part[keyword]))
    const dependent = part['dependentSchemas']
    if (isObject(dependent)) open.push(...Object.values(dependent))
  }
  return [...found]
}

/** Returns the names under `properties` of this schema alone. */
export function propertyNames(schema: JsonObject): readonly string[] {
  const { properties } = schema
  return isObject(properties) ? Object.keys(properties) : []
}
