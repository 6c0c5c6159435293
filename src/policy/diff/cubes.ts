import { OPERATORS } from '../language/operators.ts'
import { describeTest } from '../language/words.ts'
import { fieldText } from '../language/fields.ts'
import { MISSING } from '../language/reading.ts'
import { FALSE, TRUE, UNKNOWN, type Truth } from '../language/truth.ts'
import type { Dimension, ValueClass } from './dimension.ts'
import type { Leaf } from './side.ts'

/** A condition on classes: a particular answer to one test, or the presence of the field. */
interface Literal {
  readonly text: string
  holds(one: ValueClass): boolean
}

/** Describes classes of a dimension by the answers of its tests. A greedy cover keeps the text short. */
export function describeByTests(dimension: Dimension, chosen: ReadonlySet<number>): string {
  const { classes } = dimension
  const cubes = cubesInside(literalsOf(dimension), classes, chosen)
  const open = new Set(chosen)
  const words: string[] = []
  while (open.size > 0) {
    const best = pick(cubes, open)
    if (!best) break
    words.push(best.literals.map(({ text }) => text).join(' and '))
    for (const number of best.holds) open.delete(number)
  }
  // A class may need more literals than a cube has, or may differ from another class only in the contracts that accept
  // it.
  if (open.size > 0) words.push(`${dimension.name} such as ${exampleOf(dimension, open)}`)
  const [only = ''] = words
  return words.length === 1 ? only : `(${words.join(' or ')})`
}

interface Cube {
  readonly literals: readonly Literal[]
  readonly holds: readonly number[]
}

/** The maximum number of literals from which to build triples. */
const MAX_FOR_TRIPLES = 45

/** Returns minimal conjunctions of up to three literals that are true only for chosen classes. */
function cubesInside(
  literals: readonly Literal[],
  classes: readonly ValueClass[],
  chosen: ReadonlySet<number>,
): readonly Cube[] {
  const cubes: Cube[] = []
  const depth = literals.length <= MAX_FOR_TRIPLES ? 3 : 2
  const extend = (taken: readonly Literal[], from: number, holds: readonly ValueClass[]): void => {
    for (let i = from; i < literals.length; i++) {
      const literal = literals[i] as Literal
      const left = holds.filter((one) => literal.holds(one))
      if (left.length === 0 || (left.length === holds.length && taken.length > 0)) continue
      const next = [...taken, literal]
      if (left.every(({ number }) => chosen.has(number))) {
        cubes.push({ literals: next, holds: left.map(({ number }) => number) })
      } else if (next.length < depth) extend(next, i + 1, left)
    }
  }
  extend([], 0, classes)
  return cubes
}

/** Returns the cube that covers the most open classes. If several do, returns the shortest. */
function pick(cubes: readonly Cube[], open: ReadonlySet<number>): Cube | undefined {
  let best: { readonly cube: Cube; readonly gain: number } | undefined
  for (const cube of cubes) {
    const gain = cube.holds.filter((number) => open.has(number)).length
    const shorter =
      best !== undefined && gain === best.gain && cube.literals.length < best.cube.literals.length
    if (gain > 0 && (best === undefined || gain > best.gain || shorter)) best = { cube, gain }
  }
  return best?.cube
}

function literalsOf({ name, leaves, classes }: Dimension): readonly Literal[] {
  const isMissing = ({ members }: ValueClass): boolean => members.every((member) => member === MISSING)
  const missing = { text: `${name} missing`, holds: isMissing }
  const present = { text: `${name} present`, holds: (one: ValueClass) => !isMissing(one) }
  const asked = leaves.flatMap((leaf) =>
    [TRUE, FALSE, UNKNOWN].map((truth) => literalOf(leaf, truth as Truth)),
  )
  return classes.some(isMissing) ? [...asked, missing, present] : asked
}

function literalOf(leaf: Leaf, truth: Truth): Literal {
  return { text: describeAnswer(leaf, truth), holds: ({ truths }) => truths.get(leaf.key) === truth }
}

function describeAnswer({ field, test, fromMs }: Leaf, truth: Truth): string {
  if (field === 'date' || !test) {
    const day = new Date(fromMs ?? 0).toISOString()
    return truth === TRUE ? `time from ${day} on` : `time before ${day}`
  }
  const asked = describeTest(test)
  const text = fieldText(field)
  if (truth === TRUE) return `${text} ${asked}`
  if (truth === UNKNOWN) return `${text} cannot be checked (${asked})`
  const { inverse } = OPERATORS[test.op]
  return inverse === undefined ? negated(text, asked) : `${text} ${inverse}`
}

function negated(text: string, asked: string): string {
  return asked.startsWith('not ') ? `${text} ${asked.slice('not '.length)}` : `${text} not ${asked}`
}

function exampleOf({ classes }: Dimension, open: ReadonlySet<number>): string {
  const examples = classes.filter(({ number }) => open.has(number)).map(({ members }) => members[0])
  return examples.map((value) => (value === MISSING ? 'missing' : JSON.stringify(value))).join(' or ')
}
