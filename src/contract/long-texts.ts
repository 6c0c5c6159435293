import type { FieldError } from './errors.ts'
import { type JsonValue, pointerStep } from './json.ts'
import { LIMITS } from './limits.ts'

/** The path to a string: names and indexes. */
export type TextPlace = readonly (string | number)[]

/** True when a string is longer, in bytes, than the limit that applies without a contract. */
export function isLong(text: string): boolean {
  return text.length * 3 > LIMITS.STRING_BYTES && Buffer.byteLength(text) > LIMITS.STRING_BYTES
}

/** The places of all long texts in a document that passed the strict scan, which limits its depth. */
export function longTextsIn(value: JsonValue | undefined): readonly TextPlace[] {
  const found: TextPlace[] = []
  collect(value, [], found)
  return found
}

function collect(value: JsonValue | undefined, here: (string | number)[], found: TextPlace[]): void {
  if (typeof value === 'string') {
    if (isLong(value)) found.push([...here])
    return
  }
  if (value === null || typeof value !== 'object') return
  const entries: Iterable<[string | number, JsonValue]> = Array.isArray(value)
    ? (value as readonly JsonValue[]).entries()
    : Object.entries(value)
  for (const [step, inner] of entries) {
    here.push(step)
    collect(inner, here, found)
    here.pop()
  }
}

/** Maximum length of a pointer in an error, because field names may be long as well. */
const POINTER_CHARS = 512

/** The error for a long text, with its place. */
export function longTextError(place: TextPlace): FieldError {
  const steps = place.map(pointerStep)
  return { pointer: steps.join('').slice(0, POINTER_CHARS), message: TOO_LONG }
}

const TOO_LONG = `must have at most ${LIMITS.STRING_BYTES} bytes: no contract sets a larger \`maxLength\` for it`

/** The errors of a document without a known contract. */
export function longTextErrors(value: JsonValue | undefined): readonly FieldError[] {
  return longTextsIn(value).map(longTextError)
}
