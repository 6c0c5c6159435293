import type { TextForm } from '../language/functions.ts'
import { commonStep, isMultiple, nextMultiple } from './multiple.ts'

/**
 * The possible values of one part of a payload, according to its contract. They include every value of a valid payload,
 * so "no value of this kind" is certain. They include more values when these types cannot express the whole schema.
 */
export interface Values {
  readonly missing: boolean
  /** True when the path can lead into a value without such parts, such as a key of a list or a part of a string. */
  readonly blocked: boolean
  readonly null: boolean
  readonly objects: boolean
  readonly booleans: readonly boolean[]
  readonly numbers: Numbers | undefined
  readonly texts: Texts | undefined
  readonly lists: Lists | undefined
}

export interface Numbers {
  /** All possible numbers; absent when the contract does not list them. */
  readonly among?: readonly number[]
  readonly integer: boolean
  /** A number of which every possible number is a multiple. */
  readonly step?: number
  readonly min: number
  readonly minOpen: boolean
  readonly max: number
  readonly maxOpen: boolean
}

export interface Texts {
  readonly among?: readonly string[]
  /** The minimum length, in characters (code points). */
  readonly min: number
  readonly max: number
  /** The forms that every string must fit. */
  readonly forms: readonly TextForm[]
}

export interface Lists {
  readonly min: number
  readonly max: number
  /** The values of an element; a function, because a schema may contain itself. */
  readonly element: () => Values
}

export const ANY_NUMBER: Numbers = {
  integer: false,
  min: Number.NEGATIVE_INFINITY,
  minOpen: false,
  max: Number.POSITIVE_INFINITY,
  maxOpen: false,
}
export const ANY_TEXT: Texts = { min: 0, max: Number.POSITIVE_INFINITY, forms: [] }

export const NO_VALUES: Values = {
  missing: false,
  blocked: false,
  null: false,
  objects: false,
  booleans: [],
  numbers: undefined,
  texts: undefined,
  lists: undefined,
}
/** Every JSON value. */
export const ANY_VALUE: Values = {
  ...NO_VALUES,
  null: true,
  objects: true,
  booleans: [true, false],
  numbers: ANY_NUMBER,
  texts: ANY_TEXT,
  lists: { min: 0, max: Number.POSITIVE_INFINITY, element: () => ANY_VALUE },
}
/** Every possible result of a path below an unknown value. */
export const ANY_READING: Values = { ...ANY_VALUE, missing: true, blocked: true }

/** Returns true when a value, including null, is possible. */
export function canBePresent(values: Values): boolean {
  return values.null || hasReadable(values)
}

/** Returns true for objects only. A rule may expect text of a value that may be anything. */
export const holdsObjects = ({ objects, texts, numbers }: Values): boolean =>
  objects && texts === undefined && numbers === undefined

/** Returns true when a value other than null is possible. */
export function hasReadable({ objects, booleans, numbers, texts, lists }: Values): boolean {
  return objects || booleans.length > 0 || numbers !== undefined || texts !== undefined || lists !== undefined
}

/** Returns the intersection of two sets of values. */
export function meet(a: Values, b: Values): Values {
  return {
    missing: a.missing && b.missing,
    blocked: a.blocked && b.blocked,
    null: a.null && b.null,
    objects: a.objects && b.objects,
    booleans: a.booleans.filter((value) => b.booleans.includes(value)),
    numbers: a.numbers && b.numbers && meetNumbers(a.numbers, b.numbers),
    texts: a.texts && b.texts && meetTexts(a.texts, b.texts),
    lists: a.lists && b.lists && meetLists(a.lists, b.lists),
  }
}

/** Returns the union of two sets of values. */
export function join(a: Values, b: Values): Values {
  return {
    missing: a.missing || b.missing,
    blocked: a.blocked || b.blocked,
    null: a.null || b.null,
    objects: a.objects || b.objects,
    booleans: [...new Set([...a.booleans, ...b.booleans])],
    numbers: either(a.numbers, b.numbers, joinNumbers),
    texts: either(a.texts, b.texts, joinTexts),
    lists: either(a.lists, b.lists, joinLists),
  }
}

function either<T>(a: T | undefined, b: T | undefined, joined: (a: T, b: T) => T): T | undefined {
  return a !== undefined && b !== undefined ? joined(a, b) : (a ?? b)
}

function meetNumbers(a: Numbers, b: Numbers): Numbers | undefined {
  const bounds = {
    integer: a.integer || b.integer,
    ...withStep(either(a.step, b.step, (one, other) => commonStep(one, other) ?? one)),
    ...tighterMin(a, b),
    ...tighterMax(a, b),
  }
  const all = a.among ?? b.among
  if (all === undefined) return isEmptyRange(bounds) ? undefined : bounds
  const among = all.filter((value) => inRange(bounds, value) && (b.among?.includes(value) ?? true))
  return among.length === 0 ? undefined : numbersAmong(among)
}

function tighterMin(a: Numbers, b: Numbers): Pick<Numbers, 'min' | 'minOpen'> {
  const from = a.min > b.min || (a.min === b.min && a.minOpen) ? a : b
  return { min: from.min, minOpen: from.minOpen }
}

function tighterMax(a: Numbers, b: Numbers): Pick<Numbers, 'max' | 'maxOpen'> {
  const to = a.max < b.max || (a.max === b.max && a.maxOpen) ? a : b
  return { max: to.max, maxOpen: to.maxOpen }
}

function withStep(step: number | undefined): Pick<Numbers, 'step'> {
  return step === undefined ? {} : { step }
}

/** Returns true for a number that is within the bounds and a multiple of the step. Ignores `among`. */
export function inRange(numbers: Numbers, value: number): boolean {
  if (numbers.integer && !Number.isInteger(value)) return false
  return isWithin(numbers, value) && (numbers.step === undefined || isMultiple(value, numbers.step))
}

function isWithin({ min, minOpen, max, maxOpen }: Numbers, value: number): boolean {
  return (minOpen ? value > min : value >= min) && (maxOpen ? value < max : value <= max)
}

function isEmptyRange(range: Numbers): boolean {
  const { min, minOpen, max, maxOpen } = range
  if (min > max || (min === max && (minOpen || maxOpen))) return true
  if (!Number.isFinite(min) || !Number.isFinite(max) || inRange(range, min)) return false
  const step = stepOf(range)
  const first = step === undefined ? undefined : nextMultiple(step, min)
  return first !== undefined && !isWithin(range, first)
}

/** Returns the step of the numbers; the step of whole numbers is 1. */
function stepOf({ integer, step }: Numbers): number | undefined {
  if (!integer) return step
  return step === undefined ? 1 : (commonStep(step, 1) ?? step)
}

/**
 * Returns a number between `low` and `high`, both excluded, or undefined when no such number exists. No bound may be
 * between `low` and `high`. When doubles are sparser than the step, the number may not be a multiple of the step.
 */
export function numberBetween(numbers: Numbers, low: number, high: number): number | undefined {
  if (low < numbers.min || high > numbers.max) return undefined
  const step = stepOf(numbers)
  const next = step === undefined ? undefined : multipleBetween(step, low, high)
  const found = next ?? middle(low, high)
  return found > low && found < high ? found : undefined
}

/** Returns the permitted limits and bounds, and one permitted number from each gap between them; or all of `among`. */
export function numberPoints(numbers: Numbers, limits: readonly number[]): readonly number[] {
  if (numbers.among) return numbers.among
  const bounds = [numbers.min, numbers.max].filter(Number.isFinite)
  const marks = [...new Set([...limits, ...bounds])].sort((a, b) => a - b)
  if (marks.length === 0) return [0]
  const ends = [Number.NEGATIVE_INFINITY, ...marks, Number.POSITIVE_INFINITY]
  const between = ends.slice(1).map((high, index) => numberBetween(numbers, ends[index] ?? high, high))
  return [...marks.filter((mark) => inRange(numbers, mark)), ...between.filter((one) => one !== undefined)]
}

function multipleBetween(step: number, low: number, high: number): number | undefined {
  if (Number.isFinite(low)) return nextMultiple(step, low)
  const below = nextMultiple(step, -high)
  return below === undefined ? undefined : -below
}

/**
 * Returns the midpoint. If one end is infinite, returns the next whole number, or the double of the largest magnitude.
 */
function middle(low: number, high: number): number {
  if (Number.isFinite(low) && Number.isFinite(high)) return low / 2 + high / 2
  if (Number.isFinite(low)) return Math.floor(low) + 1 > low ? Math.floor(low) + 1 : Number.MAX_VALUE
  return Math.ceil(high) - 1 < high ? Math.ceil(high) - 1 : -Number.MAX_VALUE
}

/** Returns the description of exactly these numbers. The list must not be empty. */
export function numbersAmong(among: readonly number[]): Numbers {
  return {
    among: [...new Set(among)],
    integer: among.every(Number.isInteger),
    min: Math.min(...among),
    minOpen: false,
    max: Math.max(...among),
    maxOpen: false,
  }
}

function joinNumbers(a: Numbers, b: Numbers): Numbers {
  if (a.among && b.among) return numbersAmong([...a.among, ...b.among])
  const low = a.min < b.min || (a.min === b.min && !a.minOpen) ? a : b
  const high = a.max > b.max || (a.max === b.max && !a.maxOpen) ? a : b
  return {
    integer: a.integer && b.integer,
    ...withStep(
      [a.step, b.step].find((step) => step !== undefined && areMultiples(a, step) && areMultiples(b, step)),
    ),
    min: low.min,
    minOpen: low.minOpen,
    max: high.max,
    maxOpen: high.maxOpen,
  }
}

function areMultiples(numbers: Numbers, step: number): boolean {
  if (numbers.among) return numbers.among.every((value) => isMultiple(value, step))
  const own = stepOf(numbers)
  return own !== undefined && isMultiple(own, step)
}

function meetTexts(a: Texts, b: Texts): Texts | undefined {
  const open = {
    min: Math.max(a.min, b.min),
    max: Math.min(a.max, b.max),
    forms: [...new Set([...a.forms, ...b.forms])],
  }
  const all = a.among ?? b.among
  if (all === undefined) return open.min > open.max ? undefined : open
  const among = all.filter(
    (text) =>
      fitsLength(open, text) &&
      open.forms.every((form) => form.fits(text)) &&
      (b.among?.includes(text) ?? true),
  )
  return among.length === 0 ? undefined : { ...open, among }
}

export function fitsLength({ min, max }: Pick<Texts, 'min' | 'max'>, text: string): boolean {
  const length = lengthOf(text)
  return length >= min && length <= max
}

/** Counts code points, as JSON Schema does. */
export function lengthOf(text: string): number {
  return Array.from(text).length
}

function joinTexts(a: Texts, b: Texts): Texts {
  const open = {
    min: Math.min(a.min, b.min),
    max: Math.max(a.max, b.max),
    forms: a.forms.filter((form) => b.forms.includes(form)),
  }
  return a.among && b.among ? { ...open, among: [...new Set([...a.among, ...b.among])] } : open
}

function meetLists(a: Lists, b: Lists): Lists | undefined {
  const [min, max] = [Math.max(a.min, b.min), Math.min(a.max, b.max)]
  return min > max ? undefined : { min, max, element: once(() => meet(a.element(), b.element())) }
}

function joinLists(a: Lists, b: Lists): Lists {
  return {
    min: Math.min(a.min, b.min),
    max: Math.max(a.max, b.max),
    element: once(() => join(a.element(), b.element())),
  }
}

/** Returns a function that calls `make` on first use and keeps the result. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}
