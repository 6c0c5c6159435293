import { type FunctionName, givesList } from '../language/function-names.ts'
import { cutsOf, type Test } from '../language/operators.ts'
import type { Member } from '../language/entries.ts'
import type { Glob } from '../language/glob.ts'
import { remember } from '../language/remember.ts'

/** One place in the data of a call, with everything that the tests of both bundles look for in it. */
export interface Place {
  readonly looks: Looks
  /** Properties that tests look for in the results of functions of the value. */
  readonly functions: Map<FunctionName, Looks>
  /** The tests with their functions. Values are alike when all tests have the same answers for them. */
  readonly tests: PlaceTest[]
  /** The tested keys and indexes below this place. */
  readonly steps: Map<string | number, Place>
  /** The members that matches about this value read, by name. */
  readonly members: Map<string | number, Place>
  /** The place of the list's elements, which `some`, `every` and `none` test. */
  items: Place | undefined
}

export interface PlaceTest {
  readonly fn: FunctionName | undefined
  readonly test: Test
  /** True when the test reads each element that the function extracts from a string, as `some` does. */
  readonly each: boolean
}

/** Literals that tests compare with. */
export interface Looks {
  readonly numbers: Set<number>
  readonly texts: Set<string>
  readonly globs: Glob[]
  readonly patterns: Set<string>
  /** Lengths that `count` tests. */
  readonly counts: Set<number>
  /** Tests of the members of the entries that a function gives. */
  readonly members: Member<Test>[]
  /** True when some test may distinguish values that these literals do not. */
  opaque: boolean
}

export function createPlace(): Place {
  return {
    looks: createLooks(),
    functions: new Map(),
    tests: [],
    steps: new Map(),
    members: new Map(),
    items: undefined,
  }
}

function createLooks(): Looks {
  return {
    numbers: new Set(),
    texts: new Set(),
    globs: [],
    patterns: new Set(),
    counts: new Set(),
    members: [],
    opaque: false,
  }
}

/** Returns the place at the end of a path. */
export function placeAt(root: Place, path: readonly (string | number)[]): Place {
  return path.reduce<Place>((place, step) => remember(place.steps, step, createPlace), root)
}

export function itemsOf(place: Place): Place {
  return (place.items ??= createPlace())
}

export function looksOf(place: Place, fn: FunctionName | undefined): Looks {
  return fn === undefined ? place.looks : remember(place.functions, fn, createLooks)
}

/** Adds a test of a field to its place. */
export function addTest(place: Place, { fn }: Pick<Member<Test>, 'fn'>, test: Test): void {
  place.tests.push({ fn, test, each: false })
  look(place, fn, test)
}

/** Adds the points at which the answer to a test can change. */
function look(place: Place, fn: FunctionName | undefined, test: Test): void {
  const cuts = cutsOf(test)
  const looks = looksOf(place, fn)
  cuts.numbers?.forEach((number) => looks.numbers.add(number))
  cuts.texts?.forEach((text) => looks.texts.add(text))
  cuts.patterns?.forEach((pattern) => looks.patterns.add(pattern))
  cuts.globs?.forEach((glob) => looks.globs.push(glob))
  looks.opaque ||= cuts.opaque === true
  cuts.entries?.forEach((entry) => addItemTest(place, fn, entry))
  cuts.lengths?.forEach((length) => addCount(place, fn, length))
  // Lines combine in more ways than the examples have.
  if (fn !== undefined) looks.members.push(...(cuts.members ?? []))
  else cuts.members?.forEach((member) => addMember(place, member))
}

function addMember(place: Place, { path: [first = '', ...rest], fn, test }: Member<Test>): void {
  addTest(placeAt(remember(place.members, first, createPlace), rest), { fn }, test)
}

/** Adds a count test to the place, and to its items, because a list of strings has the entries of each string. */
function addCount(place: Place, fn: FunctionName | undefined, test: Test): void {
  const asked = givesList(fn) ? [place, itemsOf(place)] : [place]
  const { numbers = [], opaque = false } = cutsOf(test)
  for (const one of asked) {
    const looks = looksOf(one, fn)
    for (const length of numbers) looks.counts.add(length)
    looks.opaque ||= opaque
  }
  if (givesList(fn)) itemsOf(place).tests.push({ fn, test: { op: 'count', test }, each: false })
}

/** Adds a test of entries to the string, and to the strings in a list. */
function addItemTest(place: Place, fn: FunctionName | undefined, test: Test): void {
  const items = itemsOf(place)
  items.tests.push({ fn, test, each: true })
  look(items, fn, test)
  if (givesList(fn)) look(place, fn, test)
}
