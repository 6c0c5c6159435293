import type { JsonObject, JsonValue } from '../contract/json.ts'
import { isFieldProblem, parseField } from './fields.ts'

export interface Masked {
  readonly payload: JsonObject
  /** JSON Pointers (RFC 6901) into the payload of what was replaced, in order. */
  readonly masked: readonly string[]
}

/**
 * A payload in which the values of sensitive fields (`payload.card`, `payload.people[0].email`) stand as what `tag` says of them. Without a list
 * (the contract is not known any more) every member is sensitive.
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
    const within = (step: string | number): JsonValue => {
      const next = [...at, step]
      const rest = open.filter((steps) => steps[at.length] === step)
      const child = (value as { readonly [step: string | number]: JsonValue })[step] as JsonValue
      return mask(child, next, rest)
    }
    if (Array.isArray(value)) return value.map((_, i) => within(i))
    // a member may be named `__proto__`: fromEntries defines it as it stands
    return Object.fromEntries(Object.keys(value).map((name) => [name, within(name)]))
  }
  const shown = mask(payload, [], paths) as JsonObject
  return { payload: shown, masked }
}

type Steps = readonly (string | number)[]

function stepsOf(field: string): Steps[] {
  const parsed = parseField(field)
  return isFieldProblem(parsed) || parsed.root !== 'payload' ? [] : [parsed.path]
}

const pointerStep = (step: string | number): string =>
  `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`
