import { literalParts, type Glob } from '../language/glob.ts'
import { cutsOf, type Test } from '../language/operators.ts'
import { remember } from '../language/remember.ts'

/** A condition of a string test: `starts_with /etc`, an opaque glob, pattern or operator, or an unknown answer. */
export interface TextAtom {
  readonly op: 'is' | 'starts_with' | 'ends_with' | 'contains' | 'opaque' | 'unknown'
  readonly text: string
  /** The atoms for the start and the end of an opaque glob, which the glob implies. */
  readonly implies: readonly TextAtom[]
}

/** The atoms of the string tests of one field. Equal atoms are the same object. */
export interface TextAtoms {
  readonly atoms: readonly TextAtom[]
  /** Returns the atoms of a string test. The test passes when any of its atoms is true. Empty for other tests. */
  readonly of: (test: Test) => readonly TextAtom[]
  /** Strings that the tests name. Each such string is a separate value. */
  readonly literals: readonly string[]
}

export function collectAtoms(tests: readonly Test[]): TextAtoms {
  const known = new Map<string, TextAtom>()
  const byTest = new Map<Test, readonly TextAtom[]>()
  const literals = new Set<string>()
  const make: MakeAtom = (op, text, implies = []) =>
    remember(known, `${op} ${text}`, () => ({ op, text, implies }))
  for (const test of tests) {
    const { texts = [], globs = [], patterns = [], opaque } = cutsOf(test)
    const atoms = [
      ...globs.map((glob) => atomOfGlob(make, glob)),
      ...patterns.map((pattern) => make('opaque', `matches ${pattern}`)),
      ...(opaque ? [make('opaque', JSON.stringify(test)), make('unknown', JSON.stringify(test))] : []),
    ]
    byTest.set(test, atoms)
    for (const text of texts) literals.add(text)
    for (const { op, text } of atoms) if (op === 'is') literals.add(text)
  }
  return { atoms: [...known.values()], of: (test) => byTest.get(test) ?? [], literals: [...literals] }
}

type MakeAtom = (op: TextAtom['op'], text: string, implies?: readonly TextAtom[]) => TextAtom

function atomOfGlob(make: MakeAtom, glob: Glob): TextAtom {
  const parts = literalParts(glob)
  const [first = '', last = ''] = [parts[0], parts.at(-1)]
  if (parts.length === 1) return make('is', first)
  const starts = first === '' ? [] : [make('starts_with', first)]
  const ends = last === '' ? [] : [make('ends_with', last)]
  const [only, ...more] = [...starts, ...parts.slice(1, -1).map((part) => make('contains', part)), ...ends]
  if (only !== undefined && more.length === 0) return only
  return make('opaque', `like ${parts.join('*')}`, [...starts, ...ends])
}

/** The maximum number of atoms to combine. */
const MAX_ATOMS = 6

/**
 * Returns every set of atoms that can be true together for one string that equals no literal. Undefined when there are
 * too many sets.
 */
export function atomSets({ atoms }: TextAtoms): readonly ReadonlySet<TextAtom>[] | undefined {
  const open = atoms.filter(({ op }) => op !== 'is')
  if (open.length > MAX_ATOMS) return undefined
  const sets: ReadonlySet<TextAtom>[] = []
  for (let bits = 0; bits < 1 << open.length; bits++) {
    const set = new Set(open.filter((_, index) => (bits >> index) & 1))
    if (isPossible(set, open)) sets.push(set)
  }
  return sets
}

function isPossible(set: ReadonlySet<TextAtom>, all: readonly TextAtom[]): boolean {
  for (const one of set) {
    for (const other of all) {
      if (set.has(other) ? excludes(one, other) : entails(one, other)) return false
    }
  }
  return true
}

/** Returns true when the first atom implies the second. */
function entails(one: TextAtom, other: TextAtom): boolean {
  if (one.implies.some((implied) => implied === other || entails(implied, other))) return true
  if (other.op === 'starts_with') return one.op === 'starts_with' && one.text.startsWith(other.text)
  if (other.op === 'ends_with') return one.op === 'ends_with' && one.text.endsWith(other.text)
  if (one.op === 'opaque' || one.op === 'unknown') return false
  return other.op === 'contains' && one.text.includes(other.text)
}

/** Returns true when no string can have both atoms. */
function excludes(one: TextAtom, other: TextAtom): boolean {
  if (one.op === 'starts_with' && other.op === 'starts_with')
    return !one.text.startsWith(other.text) && !other.text.startsWith(one.text)
  if (one.op === 'ends_with' && other.op === 'ends_with')
    return !one.text.endsWith(other.text) && !other.text.endsWith(one.text)
  return one.implies.some((implied) => implied !== other && excludes(implied, other))
}
