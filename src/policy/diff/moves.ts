import type { LeafNode } from '../evaluate/conditions.ts'
import { factOf } from '../language/facts.ts'
import { fieldText } from '../language/fields.ts'
import { type Member, memberText } from '../language/entries.ts'
import type { Test } from '../language/operators.ts'
import type { Call } from '../language/snapshot.ts'
import type { Tree } from '../language/tree.ts'
import { TRUE, UNKNOWN, type Truth } from '../language/truth.ts'
import type { SideRule } from './side.ts'

/**
 * The ways in which a truth may move from the old bundle to the new one, in the order false, unknown, true. Without a
 * way, no call moves in that direction. Both ways say nothing.
 */
export interface Moves {
  readonly up: boolean
  readonly down: boolean
}

export const STILL: Moves = { up: false, down: false }
const EITHER: Moves = { up: true, down: true }

export const joinMoves = (all: readonly Moves[]): Moves => ({
  up: all.some(({ up }) => up),
  down: all.some(({ down }) => down),
})
export const isStill = ({ up, down }: Moves): boolean => !up && !down
export const opposite = ({ up, down }: Moves): Moves => ({
  up: down,
  down: up,
})

/** Compares the conditions and dates of one rule in both bundles. */
export function firingMoves(before: SideRule, after: SideRule, base: Call): Moves {
  const ofLeaves = (one: LeafNode, other: LeafNode): Moves => {
    const [old, current] = [before.leafOf(one), after.leafOf(other)]
    if (old.key === current.key) return STILL
    const put = factOf(one.field.root)?.put
    const isSameField = fieldText(one.field) === fieldText(other.field)
    if (put === 'by the contract' && isSameField)
      return along(rankOf(current.truth(base)) - rankOf(old.truth(base)))
    const whenMissing = [one, other].map((node) => JSON.stringify(node.whenMissing))
    const isComparable = isSameField && whenMissing[0] === whenMissing[1] && put !== 'by the time'
    return isComparable ? testMoves(one.test, other.test) : EITHER
  }
  return joinMoves([
    treeMoves(before.condition, after.condition, {
      nameOf: ({ field }) => fieldText(field),
      moves: ofLeaves,
    }),
    along((before.from?.fromMs ?? -Infinity) - (after.from?.fromMs ?? -Infinity)),
    along((after.until?.fromMs ?? Infinity) - (before.until?.fromMs ?? Infinity)),
  ])
}

export const along = (difference: number): Moves => ({
  up: difference > 0,
  down: difference < 0,
})
const rankOf = (truth: Truth): number => (truth === TRUE ? 2 : truth === UNKNOWN ? 1 : 0)

interface OfLeaves<Leaf> {
  readonly nameOf: (leaf: Leaf) => string
  readonly moves: (one: Leaf, other: Leaf) => Moves
}

function treeMoves<Leaf extends { readonly kind: 'leaf' }>(
  before: Tree<Leaf>,
  after: Tree<Leaf>,
  ofLeaves: OfLeaves<Leaf>,
): Moves {
  if (before.kind === 'leaf' && after.kind === 'leaf') return ofLeaves.moves(before, after)
  if (before.kind === 'not' && after.kind === 'not')
    return opposite(treeMoves(before.item, after.item, ofLeaves))
  // A single part of a group has the truth of the group.
  const kind = 'items' in before ? before.kind : 'items' in after ? after.kind : undefined
  if (kind === undefined) return EITHER
  const itemsOf = (node: Tree<Leaf>): readonly Tree<Leaf>[] =>
    'items' in node && node.kind === kind ? node.items : [node]
  return listMoves(kind, [itemsOf(before), itemsOf(after)], {
    nameOf: (node) => (node.kind === 'leaf' ? ofLeaves.nameOf(node) : node.kind),
    moves: (one, other) => treeMoves(one, other, ofLeaves),
  })
}

/**
 * Compares groups part by part. Each way to pair the parts is correct; parts with the same name are paired first,
 * because they tell most.
 */
function listMoves<T>(
  kind: 'all' | 'any',
  [before, after]: readonly [readonly T[], readonly T[]],
  { nameOf, moves }: { nameOf: (part: T) => string; moves: (one: T, other: T) => Moves },
): Moves {
  const open = [...after]
  const unpaired: T[] = []
  const found: Moves[] = []
  const pair = (part: T, fits: (other: T) => boolean): void => {
    const at = open.findIndex(fits)
    if (at < 0) unpaired.push(part)
    else found.push(...open.splice(at, 1).map((other) => moves(part, other)))
  }
  for (const part of before)
    pair(part, (other) => nameOf(part) === nameOf(other) && isStill(moves(part, other)))
  for (const part of unpaired.splice(0)) pair(part, (other) => nameOf(part) === nameOf(other))
  for (const part of unpaired.splice(0)) pair(part, () => true)
  const grows = { up: kind === 'any', down: kind === 'all' }
  return joinMoves([
    ...found,
    ...(open.length > 0 ? [grows] : []),
    ...(unpaired.length > 0 ? [opposite(grows)] : []),
  ])
}

const RISING = ['under', 'at_most']
const REVERSING = ['not', 'none']

function testMoves(before: Test, after: Test): Moves {
  if (JSON.stringify(before) === JSON.stringify(after)) return STILL
  if (before.op !== after.op) return EITHER
  if ('tests' in before && 'tests' in after)
    return listMoves('all', [before.tests, after.tests], {
      nameOf: ({ op }) => op,
      moves: testMoves,
    })
  if ('match' in before && 'match' in after) return treeMoves(before.match, after.match, OF_MEMBERS)
  if ('where' in before || 'where' in after) return EITHER
  if ('test' in before && 'test' in after) {
    const inner = testMoves(before.test, after.test)
    return REVERSING.includes(before.op) ? opposite(inner) : inner
  }
  return operandMoves(before, after)
}

const OF_MEMBERS: OfLeaves<Member<Test>> = {
  nameOf: memberText,
  moves(before, after) {
    const [one, other] = [before, after].map((leaf) => JSON.stringify({ ...leaf, test: undefined }))
    return one === other ? testMoves(before.test, after.test) : EITHER
  },
}

function operandMoves(before: Test, after: Test): Moves {
  if ('values' in before && 'values' in after) return valueMoves(before.values, after.values)
  if (!('value' in before && 'value' in after)) return EITHER
  const rise = along(after.value - before.value)
  return RISING.includes(before.op) ? rise : opposite(rise)
}

/** A value of another type than all values of a test is unknown, so only values of the same types compare. */
function valueMoves(before: readonly unknown[], after: readonly unknown[]): Moves {
  const typesOf = (values: readonly unknown[]): string =>
    [...new Set(values.map((value) => typeof value))].sort().join()
  if (typesOf(before) !== typesOf(after)) return EITHER
  const [old, current] = [new Set(before), new Set(after)]
  return {
    up: after.some((value) => !old.has(value)),
    down: before.some((value) => !current.has(value)),
  }
}
