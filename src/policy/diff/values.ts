import { type JsonObject, type JsonValue, isObject } from '../../contract/json.ts'
import { LIST_FUNCTIONS } from '../language/function-names.ts'
import { answersOf, listsFor, type Found } from './lists.ts'
import { remainderOf } from './entries.ts'
import { numbersAround } from './numbers.ts'
import { createPlace, type Looks, type Place } from './place.ts'
import { sampleOf } from './sample.ts'
import { around, textsFor } from './strings.ts'
import { compileFits, keyword, numberKeyword, partBelow, type Part } from './subschema.ts'
import { remember } from '../language/remember.ts'

/** The maximum number of combinations of members in an object. */
const MAX_OBJECTS = 4_000

/**
 * Returns values of one place of the payload that fit at least one contract. Includes at least one value of every kind
 * that the tests of both bundles distinguish; `exact` is false when this is uncertain.
 */
export function valuesFor(place: Place, parts: readonly Part[]): Found<JsonValue> {
  const texts = textsFor(place, parts)
  const lists = listValues(place, parts)
  const objects = objectValues(place, parts)
  const numbers = numbersAround(place.looks.numbers, parts)
  const all = [
    ...literalsOf(parts),
    true,
    false,
    ...numbers,
    ...texts.values,
    ...lists.values,
    ...objects.values,
    null,
  ]
  const fitting = parts.map(compileFits)
  const signature = signatureOf(place)
  const fits = (value: JsonValue): string => fitting.map((fit) => (fit(value) ? 1 : 0)).join('')
  const usable = all.filter((value) => fits(value).includes('1'))
  const allow = (type: string): boolean => parts.some((part) => mayBe(part, type))
  const literals = new Set(literalsOf(parts))
  const isNamed = (value: JsonValue): boolean =>
    literals.has(value) || (typeof value === 'string' && place.looks.texts.has(value))
  const isNew = keepsEveryKind((value) => `${fits(value)} ${signature(value)}`, isNamed)
  return {
    values: uniqueBy(usable, (value) => JSON.stringify(value)).filter(isNew),
    exact:
      parts.every((part) => part.exact) &&
      ![place.looks, ...place.functions.values()].some(({ opaque }) => opaque) &&
      ((texts.exact && allPaired(place, texts.values, usable)) || !allow('string')) &&
      (lists.exact || !allow('array')) &&
      (objects.exact || !allow('object')),
  }
}

/**
 * Returns true when the fitting strings show every combination of answers. The search treats a string's own tests and
 * the tests of each function separately, so a possible combination may lack an example.
 */
function allPaired(place: Place, texts: readonly string[], fitting: readonly JsonValue[]): boolean {
  if (place.functions.size === 0) return true
  const signatures = [undefined, ...place.functions.keys()].map((fn) => {
    const answers = answersOf({ ...place, tests: place.tests.filter((one) => one.fn === fn) })
    return (value: JsonValue) => answers(value).join()
  })
  const usable = fitting.filter((value) => typeof value === 'string')
  const kinds = (values: readonly string[], signature: (value: JsonValue) => string): number =>
    new Set(values.map(signature)).size
  // It is certain whether a string's own answers can fit the contract. For answers of functions this is uncertain, so
  // all answers count.
  const apart = signatures.reduce((product, one, i) => product * kinds(i === 0 ? usable : texts, one), 1)
  return kinds(usable, (value) => signatures.map((one) => one(value)).join(' ')) === apart
}

/** Returns a filter that keeps all numbers, all named values, and the first other value of each kind. */
function keepsEveryKind(
  kind: (value: JsonValue) => string,
  named: (value: JsonValue) => boolean,
): (value: JsonValue) => boolean {
  const seen = new Set<string>()
  return (value) => {
    if (typeof value === 'number' || named(value)) return true
    const key = kind(value)
    const isNew = !seen.has(key)
    seen.add(key)
    return isNew
  }
}

export function uniqueBy<T>(items: readonly T[], key: (item: T) => string): readonly T[] {
  const known = new Map<string, T>()
  for (const item of items) if (!known.has(key(item))) known.set(key(item), item)
  return [...known.values()]
}

function kindOf(value: JsonValue): string {
  return value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value
}

/** Returns true when a value of this JSON Schema type other than a literal may fit. */
function mayBe(part: Part, type: string): boolean {
  if (part.schema === false) return false
  const types = keyword(part, 'type')
  if (keyword(part, 'enum') !== undefined || keyword(part, 'const') !== undefined) return false
  return (
    types === undefined ||
    types === type ||
    (Array.isArray(types) && (types as readonly unknown[]).includes(type))
  )
}

/** Returns the values that the contracts list in `enum` or `const`. */
export function literalsOf(parts: readonly Part[]): readonly JsonValue[] {
  return parts.flatMap((part) => {
    const named = keyword(part, 'enum')
    const only = keyword(part, 'const')
    return [
      ...(Array.isArray(named) ? (named as readonly JsonValue[]) : []),
      ...(only === undefined ? [] : [only]),
    ]
  })
}

/**
 * Returns a function that maps values to strings. Values map to equal strings when no test of the place or below it
 * distinguishes them.
 */
export function signatureOf(place: Place): (value: JsonValue) => string {
  const answers = answersOf(place)
  const below = [...place.steps].map(([step, child]) => ({ step, signature: signatureOf(child) }))
  return (value) => {
    const inner = below.map(({ step, signature }) => {
      const found = member(value, step)
      return found === undefined ? '-' : signature(found)
    })
    return [...answers(value), kindOf(value), ...inner].join()
  }
}

function member(value: JsonValue, step: string | number): JsonValue | undefined {
  if (Array.isArray(value))
    return typeof step === 'number' ? (value as readonly JsonValue[])[step] : undefined
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, step)) return undefined
  return (value as JsonObject)[step]
}

function listValues(place: Place, parts: readonly Part[]): Found<JsonValue> {
  const indexes = [...place.steps.keys()].filter((step) => typeof step === 'number')
  const asked = place.items ?? createPlace()
  const samples = parts.flatMap((part) => sampleOf([part], 'array') ?? [])
  const lengths = lengthsOf(place, parts)
  if (!parts.some((part) => mayBe(part, 'array'))) return { values: samples, exact: true }
  if (indexes.length === 0 && place.items === undefined && lengths.length === 0)
    return { values: [...samples, [], [1]], exact: true }
  const children = indexes.map((index) => place.steps.get(index) ?? createPlace())
  const elements = valuesFor(
    merge([asked, ...children]),
    parts.map((part) => partBelow(part, 0)),
  )
  const distinct = (one: Place): Found<JsonValue> => ({
    values: uniqueBy(elements.values, signatureOf(one)),
    exact: elements.exact,
  })
  const last = Math.max(-1, ...indexes)
  const fixed = Array.from({ length: last + 1 }, (_, index) =>
    distinct(merge([asked, place.steps.get(index) ?? asked])),
  )
  const { values, exact } = listsFor({ items: asked, elements: distinct(asked), fixed, lengths })
  // The examples do not combine every entry count with every answer to the list's other tests.
  const isCounted = LIST_FUNCTIONS.some((fn) => (place.functions.get(fn)?.counts.size ?? 0) > 0)
  return { values: [...samples, ...values], exact: exact && !isCounted }
}

function lengthsOf({ looks, functions }: Place, parts: readonly Part[]): readonly number[] {
  const counts = [looks, ...functions.values()].flatMap((one: Looks) => [...one.counts])
  const least = parts.flatMap((part) => numberKeyword(part, 'minItems'))
  const most = parts.flatMap((part) => numberKeyword(part, 'maxItems'))
  return counts.length === 0 && parts.length < 2 ? least : around(new Set([...counts, ...least, ...most]))
}

/** Returns objects with every combination of the tested members that tests distinguish. */
function objectValues(place: Place, parts: readonly Part[]): Found<JsonValue> {
  const steps = [...place.steps.keys()].filter((step) => typeof step === 'string')
  const keys = [...new Set([...steps, ...place.members.keys()])].map(String)
  const samples = parts.flatMap((part) => sampleOf([part], 'object') ?? [])
  const bases: readonly JsonObject[] = [...samples.filter(isObject), {}]
  if (!parts.some((part) => mayBe(part, 'object'))) return { values: samples, exact: true }
  // Contracts that differ may distinguish more than the matches.
  const isWhole = parts.length > 1 || place.members.size === 0
  const rest = remainderOf(place)
  const done = new Set<string>()
  const kindOfObject = (value: JsonObject): string => {
    const named = isWhole ? value : steps.map((step) => value[step] ?? null)
    return JSON.stringify(isWhole ? named : [named, rest(value, done)])
  }
  let built: readonly JsonObject[] = uniqueBy(bases, kindOfObject)
  let exact = true
  for (const key of keys) {
    const below = parts.map((part) => partBelow(part, key))
    const asked = [place.steps.get(key), place.members.get(key)].filter((one) => one !== undefined)
    const child = valuesFor(merge(asked), below)
    exact &&= child.exact
    done.add(key)
    const next = built.flatMap((base) => [
      without(base, key),
      ...child.values.map((value) => ({ ...base, [key]: value })),
    ])
    built = uniqueBy(next, kindOfObject)
    if (built.length <= MAX_OBJECTS) continue
    built = built.slice(0, MAX_OBJECTS)
    exact = false
  }
  return { values: built, exact }
}

function without(base: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(base).filter(([name]) => name !== key))
}

/** Returns one place that looks for everything that the given places look for. */
function merge(places: readonly Place[]): Place {
  const whole = createPlace()
  for (const place of places) addAll(whole, place)
  return whole
}

function addAll(whole: Place, place: Place): void {
  addLooks(whole.looks, place.looks)
  for (const [fn, looks] of place.functions)
    addLooks(
      remember(whole.functions, fn, () => createPlace().looks),
      looks,
    )
  whole.tests.push(...place.tests)
  for (const [step, child] of place.steps) addAll(remember(whole.steps, step, createPlace), child)
  for (const [step, child] of place.members) addAll(remember(whole.members, step, createPlace), child)
  if (place.items) addAll((whole.items ??= createPlace()), place.items)
}

function addLooks(whole: Looks, more: Looks): void {
  for (const number of more.numbers) whole.numbers.add(number)
  for (const text of more.texts) whole.texts.add(text)
  whole.globs.push(...more.globs)
  for (const pattern of more.patterns) whole.patterns.add(pattern)
  for (const count of more.counts) whole.counts.add(count)
  whole.members.push(...more.members)
  whole.opaque ||= more.opaque
}
