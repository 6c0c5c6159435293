import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import type { Defaults } from '../language/reading.ts'

/** Returns the contract's `default` for each step of a payload path; undefined when the path has no default. */
export function schemaDefaults(schema: JsonObject, path: readonly (string | number)[]): Defaults | undefined {
  const defaults: (JsonValue | undefined)[] = []
  let current: JsonValue | undefined = schema
  for (const step of path) {
    current = childSchema(schema, current, step)
    defaults.push(isObject(current) ? current['default'] : undefined)
  }
  return defaults.some((value) => value !== undefined) ? defaults : undefined
}

/**
 * Returns the schema at a path, with local references followed; undefined when `properties` or `items` do not declare
 * it.
 */
export function schemaAt(schema: JsonObject, path: readonly (string | number)[]): JsonValue | undefined {
  let current: JsonValue | undefined = schema
  for (const step of path) current = childSchema(schema, current, step)
  return current
}

function childSchema(
  root: JsonObject,
  schema: JsonValue | undefined,
  step: string | number,
): JsonValue | undefined {
  const here = dereference(root, schema)
  if (!here) return undefined
  if (typeof step === 'number') {
    const prefix = here['prefixItems']
    const fixed = Array.isArray(prefix) ? (prefix as readonly JsonValue[])[step] : undefined
    return dereference(root, fixed ?? here['items'])
  }
  const properties = here['properties']
  return isObject(properties) && Object.hasOwn(properties, step)
    ? dereference(root, properties[step])
    : undefined
}

/** Follows local references. Keywords next to a `$ref` take precedence over those of its target. */
function dereference(root: JsonObject, schema: JsonValue | undefined): JsonObject | undefined {
  let here = schema
  for (let hops = 0; hops < 16 && isObject(here); hops++) {
    const match: RegExpExecArray | null = /^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(
      typeof here['$ref'] === 'string' ? here['$ref'] : '',
    )
    if (!match) return here
    const { $ref: _, ...beside }: JsonObject = here
    const defs: JsonValue | undefined = root[match[1] ?? '']
    const target: JsonValue | undefined = isObject(defs) ? defs[match[2] ?? ''] : undefined
    here = isObject(target) ? { ...target, ...beside } : undefined
  }
  return undefined
}
