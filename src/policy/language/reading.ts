import type { JsonObject, JsonValue } from '../../contract/json.ts'

/** The result of a path that does not lead to a value. */
export const MISSING = Symbol('missing')
/** The result for a value of the wrong kind for the path, the function or the test. */
export const UNREADABLE = Symbol('unreadable')
export type Reading = JsonValue | typeof MISSING | typeof UNREADABLE

/** Marks an unreadable list element that represents an unknown number of results. */
export const SEVERAL_UNREADABLE = Symbol('several unreadable')

export type AppliedElement = JsonValue | typeof UNREADABLE | typeof SEVERAL_UNREADABLE

/** The result of a function. Unreadable elements of a list keep their position and are marked. */
export type Applied = Reading | readonly AppliedElement[]

/** The contract's `default` for each depth of the path. Each default replaces a missing step. */
export type Defaults = readonly (JsonValue | undefined)[]

/**
 * Follows a path through own properties only, from the value that is `start` steps down the path. A step into `null`
 * returns null. A step into a string, a number or a boolean, or a step of the wrong kind, returns UNREADABLE.
 */
export function walk(
  from: JsonValue,
  path: readonly (string | number)[],
  defaults?: Defaults,
  start = 0,
): Reading {
  let value: JsonValue = from
  for (let depth = start; depth < path.length; depth++) {
    if (value === null) return null
    const next = takeStep(value, path[depth] ?? 0)
    if (next === UNREADABLE) return UNREADABLE
    const found: JsonValue | undefined = next === undefined ? defaults?.[depth] : next
    if (found === undefined) return MISSING
    value = found
  }
  return value
}

function takeStep(
  value: Exclude<JsonValue, null>,
  step: string | number,
): JsonValue | undefined | typeof UNREADABLE {
  if (typeof value !== 'object') return UNREADABLE
  if (Array.isArray(value))
    return typeof step === 'number' ? (value as readonly JsonValue[])[step] : UNREADABLE
  if (typeof step === 'number') return UNREADABLE
  return Object.hasOwn(value, step) ? (value as JsonObject)[step] : undefined
}
