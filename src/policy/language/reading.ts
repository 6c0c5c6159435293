import type { JsonObject, JsonValue } from '../../contract/json.ts'

/** A path that leads nowhere. */
export const MISSING = Symbol('missing')
/** A value that is there and cannot be read as what the path, the function or the test needs. */
export const UNREADABLE = Symbol('unreadable')
export type Reading = JsonValue | typeof MISSING | typeof UNREADABLE

/** Stands in a list for what was made of an unreadable element, however many elements that would have been. */
export const SEVERAL_UNREADABLE = Symbol('several unreadable')

export type AppliedElement = JsonValue | typeof UNREADABLE | typeof SEVERAL_UNREADABLE

/** A value read through a function: elements that it could not read stay in their place, marked. */
export type Applied = Reading | readonly AppliedElement[]

/** `default`s of the contract by depth of the path: what a missing step stands for. */
export type Defaults = readonly (JsonValue | undefined)[]

/** Walks own properties only. What is inside `null` is null; a step into something else that is no object or list is unreadable. */
export function walk(root: JsonValue, path: readonly (string | number)[], defaults?: Defaults): Reading {
  let value: JsonValue = root
  for (let depth = 0; depth < path.length; depth++) {
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
