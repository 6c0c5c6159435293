import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import type { Defaults } from '../language/reading.ts'
import { listOf, refTarget } from './part.ts'

type Path = readonly (string | number)[]

/** Returns the contract's `default` for each step of a payload path; undefined when the path has no default. */
export function schemaDefaults(schema: JsonObject, path: Path): Defaults | undefined {
  const defaults = schemasAlong(schema, path).map((one) => one?.['default'])
  return defaults.some((value) => value !== undefined) ? defaults : undefined
}

/**
 * Returns the schema at a path, with local references followed; undefined when `properties` or `items` do not declare
 * it.
 */
export const schemaAt = (schema: JsonObject, path: Path): JsonObject | undefined =>
  path.length === 0 ? schema : schemasAlong(schema, path).at(-1)

/** The schema after each step of a path. */
function schemasAlong(root: JsonObject, path: Path): readonly (JsonObject | undefined)[] {
  let here = dereference(root, root)
  return path.map((step) => (here = here && dereference(root, childSchema(here, step))))
}

function childSchema(here: JsonObject, step: string | number): JsonValue | undefined {
  if (typeof step === 'number') return listOf(here['prefixItems'])[step] ?? here['items']
  const { properties } = here
  return isObject(properties) && Object.hasOwn(properties, step) ? properties[step] : undefined
}

/** Follows local references. Keywords next to a `$ref` take precedence over those of its target. */
function dereference(root: JsonObject, schema: JsonValue | undefined): JsonObject | undefined {
  let here = schema
  for (let hops = 0; hops < 16 && isObject(here); hops++) {
    const target = refTarget(root, here)
    if (target === undefined) return here
    const { $ref: _, ...beside }: JsonObject = here
    here = isObject(target) ? { ...target, ...beside } : undefined
  }
  return undefined
}
