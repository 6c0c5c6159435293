import type { Numbers, Texts, Values } from './possible.ts'

const MAX_LISTED = 8

/** Describes the types of a field: `a whole number`, `text or a list`. */
export function describeKinds(values: Values): string {
  const kinds: string[] = []
  if (values.texts) kinds.push('text')
  if (values.numbers) kinds.push(values.numbers.integer ? 'a whole number' : 'a number')
  if (values.booleans.length > 0) kinds.push('true or false')
  if (values.lists) kinds.push('a list')
  if (values.objects) kinds.push('an object')
  return kinds.length < 2 ? (kinds[0] ?? 'nothing') : `${kinds.slice(0, -1).join(', ')} or ${kinds.at(-1)}`
}

/** Describes the bounds: `at least 1 and at most 50`; empty without bounds. */
export function describeRange({ min, minOpen, max, maxOpen }: Numbers): string {
  const bounds: string[] = []
  if (Number.isFinite(min)) bounds.push(`${minOpen ? 'above' : 'at least'} ${min}`)
  if (Number.isFinite(max)) bounds.push(`${maxOpen ? 'below' : 'at most'} ${max}`)
  return bounds.join(' and ')
}

/** Describes the length: `1 to 40 characters long`. */
export function describeLength({ min, max }: Pick<Texts, 'min' | 'max'>): string {
  if (!Number.isFinite(max)) return `at least ${min} characters long`
  return min === 0 ? `at most ${max} characters long` : `${min} to ${max} characters long`
}

/** Lists the values of a field, or only the first values if there are many. */
export function describeAmong(among: readonly (string | number | boolean)[]): string {
  const shown = among.slice(0, MAX_LISTED).map(String)
  return `${shown.join(', ')}${among.length > MAX_LISTED ? ', ...' : ''}`
}
