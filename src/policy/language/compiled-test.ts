import { toNfc } from '../../domain/normal-form.ts'
import { UNREADABLE, SEVERAL_UNREADABLE, type Applied, type AppliedElement } from './reading.ts'
import { allOf, anyOf, not, truthOf, UNKNOWN, type Truth } from './truth.ts'

export type Scalar = string | number | boolean

/**
 * A compiled test. For a value of the wrong type or a string without a normal form, returns UNKNOWN and never throws.
 */
export type CompiledTest = (value: Applied) => Truth

/** Creates a matcher from one string of the operand. The matcher returns undefined when it cannot decide. */
export type PrepareText = (wanted: string) => (text: string) => boolean | undefined

/** Compiles a string test: TRUE when a matcher fits, otherwise UNKNOWN when a matcher cannot decide. */
export function compileText(matchers: readonly ReturnType<PrepareText>[]): CompiledTest {
  return (value) => (typeof value === 'string' ? judge(value, (one) => fitsAny(one, matchers)) : UNKNOWN)
}

/** Returns the truth of `holds` for the string in NFC. */
export function judge(value: string, holds: (text: string) => boolean | undefined): Truth {
  const normal = toNfc(value)
  const held = normal === undefined ? undefined : holds(normal)
  return held === undefined ? UNKNOWN : truthOf(held)
}

function fitsAny(text: string, matchers: readonly ReturnType<PrepareText>[]): boolean | undefined {
  let found: boolean | undefined = false
  for (const fits of matchers) {
    const fit = fits(text)
    if (fit === true) return true
    if (fit === undefined) found = undefined
  }
  return found
}

/** Joins the answers for the entries of a list. */
export type JoinEntries = <I>(items: readonly I[], ask: (item: I) => Truth) => Truth

export function compileEntries(inner: CompiledTest, joinEntries: JoinEntries): CompiledTest {
  const ask = (item: AppliedElement): Truth => inner(item === SEVERAL_UNREADABLE ? UNREADABLE : item)
  return (value) => (Array.isArray(value) ? joinEntries(value as readonly AppliedElement[], ask) : UNKNOWN)
}

export const some: JoinEntries = (items, ask) => anyOf(items, ask, undefined)
export const none: JoinEntries = (items, ask) => not(some(items, ask))
export const every: JoinEntries = (items, ask) =>
  items.length === 0 ? UNKNOWN : allOf(items, ask, undefined)

/** Compiles a test for equality with one of the values. A value of any other type is UNKNOWN. */
export function compileEquality(values: readonly Scalar[]): CompiledTest {
  const members = new Set<unknown>(values)
  const texts = textsIn(values).length > 0
  const numbers = values.some((value) => typeof value === 'number')
  const booleans = values.some((value) => typeof value === 'boolean')
  return (value) => {
    if (typeof value === 'string') return texts ? judge(value, (one) => members.has(one)) : UNKNOWN
    if (typeof value === 'number')
      return numbers && Number.isFinite(value) ? truthOf(members.has(value)) : UNKNOWN
    return typeof value === 'boolean' && booleans ? truthOf(members.has(value)) : UNKNOWN
  }
}

export const textsIn = (values: readonly Scalar[]): readonly string[] =>
  values.filter((value) => typeof value === 'string')
