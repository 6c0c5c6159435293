import type { Branch, Ending, Node } from './diagram.ts'
import { remember } from '../language/remember.ts'

/** A set of calls: one or more classes for each dimension. A dimension that the box omits does not matter. */
export type Box = ReadonlyMap<number, readonly number[]>

type ByLabel = ReadonlyMap<string, readonly Box[]>

export interface Covers {
  readonly byLabel: ByLabel
  /** Labels with too many boxes. For such a label, one box covers all its calls, and may also cover other calls. */
  readonly rough: ReadonlySet<string>
}

/** The maximum number of boxes for one label. With more, one bounding box replaces them. */
const MAX_BOXES = 600

/** Returns the calls with each label, as boxes. Merging adjacent boxes keeps their number small. */
export function boxesOf(root: Node, labelOf: (ending: Ending) => string | undefined): Covers {
  const rough = new Set<string>()
  const known = new Map<Node, ByLabel>()
  const visit = (node: Node): ByLabel =>
    remember(known, node, () =>
      node.kind === 'branch' ? joinBranch(node, visit, rough) : ending(node, labelOf),
    )
  return { byLabel: new Map([...visit(root)].map(([label, boxes]) => [label, mergeBoxes(boxes)])), rough }
}

function ending(node: Ending, labelOf: (ending: Ending) => string | undefined): ByLabel {
  const label = node.kind === 'judged' ? labelOf(node) : undefined
  return label === undefined ? new Map() : new Map([[label, [new Map()]]])
}

/** Joins classes that lead to the same box. If all classes lead to a box, the box omits the dimension. */
function joinBranch(
  { dimension, next }: Branch,
  visit: (node: Node) => ByLabel,
  rough: Set<string>,
): ByLabel {
  const byLabel = new Map<string, Map<string, { box: Box; classes: number[] }>>()
  for (const [number, node] of next.entries()) {
    for (const [label, boxes] of visit(node)) {
      const rests = remember(byLabel, label, () => new Map())
      for (const box of boxes) remember(rests, keyOf(box), () => ({ box, classes: [] })).classes.push(number)
    }
  }
  const result = new Map<string, readonly Box[]>()
  for (const [label, rests] of byLabel) {
    const boxes = [...rests.values()].map(({ box, classes }) => {
      if (classes.length === next.length) return box
      return new Map([[dimension, classes], ...box])
    })
    if (boxes.length > MAX_BOXES) rough.add(label)
    result.set(label, boxes.length > MAX_BOXES ? [boundingBox(boxes)] : boxes)
  }
  return result
}

function keyOf(box: Box): string {
  return [...box]
    .sort(([a], [b]) => a - b)
    .map(([dimension, classes]) => `${dimension}:${classes.join()}`)
    .join(' ')
}

/** Returns the smallest box that covers all boxes. */
export function boundingBox(boxes: readonly Box[]): Box {
  const [first = new Map<number, readonly number[]>(), ...others] = boxes
  const shared = [...first.keys()].filter((dimension) => others.every((box) => box.has(dimension)))
  return new Map(
    shared.map((dimension) => {
      const classes = new Set(boxes.flatMap((box) => box.get(dimension) ?? []))
      return [dimension, [...classes].sort((a, b) => a - b)]
    }),
  )
}

/** Returns the box without the dimensions that it does not restrict. */
export function trimmed(box: Box, sizes: readonly number[]): Box {
  return new Map([...box].filter(([dimension, classes]) => classes.length < (sizes[dimension] ?? 0)))
}

/** The maximum number of boxes to merge. With more, the search for adjacent boxes costs more than it saves. */
const MAX_MERGED = 200

/** Joins boxes that differ in only one dimension, until no such pair remains. */
export function mergeBoxes(boxes: readonly Box[]): readonly Box[] {
  if (boxes.length > MAX_MERGED) return boxes
  const merged = [...boxes]
  for (let at = 0; at < merged.length; at++) {
    for (let other = at + 1; other < merged.length; other++) {
      const joined = join(merged[at] as Box, merged[other] as Box)
      if (!joined) continue
      merged.splice(other, 1)
      merged[at] = joined
      at = -1
      break
    }
  }
  return merged
}

function join(a: Box, b: Box): Box | undefined {
  if (a.size !== b.size || [...a.keys()].some((dimension) => !b.has(dimension))) return undefined
  const different = [...a].filter(([dimension, classes]) => classes.join() !== b.get(dimension)?.join())
  const [only] = different
  if (different.length !== 1 || !only) return undefined
  const classes = [...new Set([...only[1], ...(b.get(only[0]) ?? [])])].sort((x, y) => x - y)
  return new Map([...a, [only[0], classes]])
}

/** Counts the combinations of classes in a box. */
export function countCells(box: Box, sizes: readonly number[]): number {
  return sizes.reduce((product, size, dimension) => product * (box.get(dimension)?.length ?? size), 1)
}
