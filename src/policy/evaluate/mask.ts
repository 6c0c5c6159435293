import { type JsonObject, type JsonValue, pointerStep } from '../../contract/json.ts'
import { payloadPath } from '../language/payload-path.ts'
import { remember } from '../language/remember.ts'

export interface Masked {
  readonly payload: JsonObject
  /** JSON Pointers (RFC 6901) into the payload to the replaced values, in order. */
  readonly masked: readonly string[]
}

/**
 * Replaces the values of sensitive fields (`payload.card`, `payload.people[0].email`) with the result of `tag`. If the
 * contract no longer exists, there is no list of sensitive fields, and every member is sensitive.
 */
export function maskPayload(
  payload: JsonObject,
  sensitive: readonly string[] | undefined,
  tag: (value: JsonValue) => string,
): Masked {
  const paths = sensitive?.flatMap(stepsOf) ?? Object.keys(payload).map((name) => [name])
  const masked: string[] = []
  const mask = (value: JsonValue, at: readonly (string | number)[], open: readonly Steps[]): JsonValue => {
    if (open.some((steps) => steps.length === at.length)) {
      masked.push(at.map(pointerStep).join(''))
      return tag(value)
    }
    if (open.length === 0 || value === null || typeof value !== 'object') return value
    const further = byStep(open, at.length)
    const within = (step: string | number): JsonValue => {
      const child = (value as { readonly [step: string | number]: JsonValue })[step] as JsonValue
      return mask(child, [...at, step], further.get(step) ?? [])
    }
    if (Array.isArray(value)) return value.map((_, i) => within(i))
    // `fromEntries` defines a member named `__proto__` like any other member.
    return Object.fromEntries(Object.keys(value).map((name) => [name, within(name)]))
  }
  const shown = mask(payload, [], paths) as JsonObject
  return { payload: shown, masked }
}

type Steps = readonly (string | number)[]

/** Groups paths by their step at a depth. A payload may have ten thousand sensitive members. */
function byStep(paths: readonly Steps[], depth: number): ReadonlyMap<string | number, readonly Steps[]> {
  const found = new Map<string | number, Steps[]>()
  for (const steps of paths) {
    const step = steps[depth]
    if (step !== undefined) remember(found, step, () => []).push(steps)
  }
  return found
}

function stepsOf(field: string): Steps[] {
  const path = payloadPath(field)
  return path === undefined ? [] : [path]
}
