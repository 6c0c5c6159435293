import type { JsonValue } from '../../contract/json.ts'
import { applyFunction } from '../language/functions.ts'
import type { Applied } from '../language/reading.ts'
import { compileTest } from '../language/operators.ts'
import type { Place, PlaceTest } from './place.ts'

/** Example values. */
export interface Found<T> {
  readonly values: readonly T[]
  /** False when other values may behave differently from all of these. */
  readonly exact: boolean
}

/** The maximum number of sets of element kinds. */
const MAX_SETS = 400
const MAX_LISTS = 12_000
/** The maximum length of a list. */
const MAX_LENGTH = 1_000

export interface ListPlan {
  readonly items: Place
  /** One element of every kind. */
  readonly elements: Found<JsonValue>
  /**
   * For each index that tests read, and for all indexes before it, one element of every kind that tests distinguish
   * there.
   */
  readonly fixed: readonly Found<JsonValue>[]
  /** Lengths that tests or the contracts compare with. */
  readonly lengths: readonly number[]
}

/**
 * Returns lists for every set of element kinds that `some`, `every` and `none` distinguish. Each set is appended to
 * every combination of elements at the tested indexes, in every length of the plan.
 */
export function listsFor({ items, elements, fixed, lengths }: ListPlan): Found<JsonValue> {
  const sets = setsOf(items, elements.values)
  const heads = headsOf(fixed)
  const lists: JsonValue[] = []
  let exact = elements.exact && sets.exact && heads.exact && fixed.every((one) => one.exact)
  for (const head of heads.values) {
    const tails = head.length < fixed.length ? [[]] : sets.values
    for (const tail of tails) lists.push(...grown([...head, ...tail], tail.length > 0 ? lengths : []))
    if (lists.length <= MAX_LISTS) continue
    exact = false
    break
  }
  return { values: lists, exact: exact && lengths.every((length) => length <= MAX_LENGTH) }
}

/**
 * Returns the list, and copies extended to every length. Repeating the last element keeps the same kinds in the list.
 */
function grown(list: readonly JsonValue[], lengths: readonly number[]): readonly JsonValue[] {
  const last = list.at(-1) ?? null
  const longer = lengths.filter((length) => length > list.length && length <= MAX_LENGTH)
  return [list, ...longer.map((length) => [...list, ...Array<JsonValue>(length - list.length).fill(last)])]
}

/** Returns all beginnings of lists, including shorter ones, so that a tested index can be past the end. */
function headsOf(fixed: readonly Found<JsonValue>[]): Found<readonly JsonValue[]> {
  let full: readonly (readonly JsonValue[])[] = [[]]
  const heads: (readonly JsonValue[])[] = [[]]
  for (const { values } of fixed) {
    if (full.length * values.length > MAX_LISTS) return { values: heads, exact: false }
    full = full.flatMap((head) => values.map((value) => [...head, value]))
    heads.push(...full)
  }
  return { values: fixed.length === 0 ? full : heads, exact: true }
}

/** Returns one set of elements for each combination of answers to the tests that a set's elements can produce. */
function setsOf(items: Place, elements: readonly JsonValue[]): Found<readonly JsonValue[]> {
  const answers = answersOf(items)
  const kinds = elements.map((value) => ({ value, bits: answers(value) }))
  const seen = new Set<string>()
  const sets: { readonly members: readonly JsonValue[]; readonly bits: readonly number[] }[] = [
    { members: [], bits: kinds[0]?.bits.map(() => 0) ?? [] },
  ]
  for (let at = 0; at < sets.length; at++) {
    const { members, bits } = sets[at] as (typeof sets)[number]
    for (const kind of kinds) {
      const joined = bits.map((bit, i) => bit | (kind.bits[i] ?? 0))
      const key = joined.join()
      if (seen.has(key)) continue
      if (sets.length >= MAX_SETS) return { values: sets.map((set) => set.members), exact: false }
      seen.add(key)
      sets.push({ members: [...members, kind.value], bits: joined })
    }
  }
  return { values: sets.map((set) => set.members), exact: true }
}

/** Returns a function that computes the bits of each test's answers for a present value. */
export function answersOf(place: Place): (value: JsonValue) => readonly number[] {
  const tests = place.tests.map((one) => ({ ...one, check: compileTest(one.test) }))
  return (value) =>
    tests.map((one) =>
      readAs(one, value).reduce<number>((bits, reading) => bits | (1 << one.check(reading)), 0),
    )
}

/**
 * Returns the values that the test reads from a value. With `each`, these are all entries that the function extracts.
 */
function readAs({ fn, each }: PlaceTest, value: JsonValue): readonly Applied[] {
  if (fn === undefined) return [value]
  const applied = applyFunction(fn, value)
  const isText = typeof value === 'string'
  return each && isText && Array.isArray(applied) ? (applied as readonly Applied[]) : [applied]
}
