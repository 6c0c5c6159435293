import { givesList } from '../language/functions.ts'
import type { FieldIr, FunctionName, Scalar, TestIr } from '../language/rule.ts'
import { beginning, ending, exactly, holding, likeGlob, type Glob } from './machines.ts'

/** One place in the data of a call, with everything that the tests of both bundles look for in it. */
export interface Place {
  readonly looks: Looks
  /** What is looked for in the result of a function of the value. */
  readonly functions: Map<FunctionName, Looks>
  /** The tests themselves, with their functions: they tell which values are alike. */
  readonly tests: PlaceTest[]
  /** Keys and indexes below it that are tested too. */
  readonly steps: Map<string | number, Place>
  /** What `some`, `every` and `none` ask of its elements. */
  items: Place | undefined
}

export interface PlaceTest {
  readonly fn: FunctionName | undefined
  readonly test: TestIr
  /** Asked of each element that the function makes of a text, as `some` does. */
  readonly each: boolean
}

/** What tests compare with. */
export interface Looks {
  readonly numbers: Set<number>
  readonly texts: Set<string>
  readonly globs: Glob[]
  readonly patterns: Set<string>
  /** Lengths that `count` asks for. */
  readonly counts: Set<number>
}

export function createPlace(): Place {
  return { looks: createLooks(), functions: new Map(), tests: [], steps: new Map(), items: undefined }
}

function createLooks(): Looks {
  return { numbers: new Set(), texts: new Set(), globs: [], patterns: new Set(), counts: new Set() }
}

/** The place at the end of a path. */
export function placeAt(root: Place, path: readonly (string | number)[]): Place {
  return path.reduce<Place>((place, step) => {
    const known = place.steps.get(step) ?? createPlace()
    place.steps.set(step, known)
    return known
  }, root)
}

export function itemsOf(place: Place): Place {
  return (place.items ??= createPlace())
}

export function looksOf(place: Place, fn: FunctionName | undefined): Looks {
  if (fn === undefined) return place.looks
  const known = place.functions.get(fn) ?? createLooks()
  place.functions.set(fn, known)
  return known
}

/** Notes a test of a field at its place. */
export function addTest(place: Place, { fn }: Pick<FieldIr, 'fn'>, test: TestIr): void {
  place.tests.push({ fn, test, each: false })
  look(place, fn, test)
}

function look(place: Place, fn: FunctionName | undefined, test: TestIr): void {
  if ('tests' in test) return test.tests.forEach((one) => look(place, fn, one))
  if ('test' in test) return lookInside(place, fn, test)
  const looks = looksOf(place, fn)
  if ('value' in test) looks.numbers.add(test.value)
  else if ('values' in test) lookFor(looks, test)
  if (test.op === 'contains') addItemTest(place, fn, { op: 'is', values: test.values })
}

function lookInside(
  place: Place,
  fn: FunctionName | undefined,
  { op, test }: Extract<TestIr, { readonly test: TestIr }>,
): void {
  if (op === 'not') look(place, fn, test)
  else if (op === 'count') addCount(place, fn, test)
  else addItemTest(place, fn, test)
}

/** How many entries a function makes of a list of texts depends on how many it makes of each. */
function addCount(place: Place, fn: FunctionName | undefined, test: TestIr): void {
  const asked = givesList(fn) ? [place, itemsOf(place)] : [place]
  for (const one of asked) pointsOf(test).forEach((length) => looksOf(one, fn).counts.add(length))
  if (givesList(fn)) itemsOf(place).tests.push({ fn, test: { op: 'count', test }, each: false })
}

/** What makes a list of one text: its entries are looked for in the text, and in the texts of a list. */
function addItemTest(place: Place, fn: FunctionName | undefined, test: TestIr): void {
  const items = itemsOf(place)
  items.tests.push({ fn, test, each: true })
  look(items, fn, test)
  if (givesList(fn)) look(place, fn, test)
}

function pointsOf(test: TestIr): readonly number[] {
  if ('tests' in test) return test.tests.flatMap(pointsOf)
  if ('test' in test) return pointsOf(test.test)
  if ('value' in test) return [test.value]
  return 'values' in test
    ? (test.values as readonly Scalar[]).filter((value) => typeof value === 'number')
    : []
}

function lookFor(looks: Looks, { op, values }: Extract<TestIr, { readonly values: unknown }>): void {
  for (const value of values as readonly Scalar[]) {
    if (typeof value === 'number') looks.numbers.add(value)
    if (typeof value !== 'string') continue
    if (op === 'is') looks.texts.add(value)
    if (op === 'matches') looks.patterns.add(value)
    else looks.globs.push(GLOBS[op](value))
  }
}

const GLOBS = {
  is: exactly,
  contains: holding,
  starts_with: beginning,
  ends_with: ending,
  like: likeGlob,
} as const
