import { isOpen, type LabelSet, type OpenSet, OTHER } from '../../metrics/labels.ts'
import type { MetricSpec } from '../../metrics/metric-spec.ts'
import { closedSeries, mostSeries } from '../../metrics/table.ts'

export type Labels = Readonly<Record<string, string>>

/** The series that one metric has, each with its cell. Every label set passes here before it counts, so that there are never more than the table allows. */
export interface Series<Cell> {
  /** Where to count; undefined when the table has no place for such labels. */
  cell(labels: Labels): Cell | undefined
  /** Makes all of these exist, or none when there is no room. */
  expect(wanted: readonly Labels[]): void
  /** Drops the series whose open label of this origin holds a name that is no longer known. */
  forget(from: OpenSet['from'], isKnown: (name: string) => boolean): void
  clear(): void
  all(): Iterable<Cell>
}

/** By the value of the first label, of the second, and so on: found without making a key, because every decision looks up several. */
type Branch<Cell> = Map<string, Branch<Cell> | Cell>

interface Place<Cell> {
  readonly labels: Labels
  readonly cell: Cell
}

export interface Admission {
  /** Asked when a tool has no series yet: what is unknown folds into `_other`, and is no fold for want of room. */
  readonly knowsTool: (name: string) => boolean
  /** Something was counted under `_other`, or not at all, because there is no room for it. */
  readonly onFold: () => void
}

/** `make` gives a series its cell. */
export function createSeries<Cell extends object>(
  spec: MetricSpec,
  make: (labels: Labels) => Cell,
  { knowsTool, onFold }: Admission,
): Series<Cell> {
  const sets = Object.entries<LabelSet>(spec.labels)
  const names = sets.map(([name]) => name)
  const open = sets.filter(([, set]) => isOpen(set)).map(([name]) => name)
  // the series under `_other` always find their place
  const room = open.length === 0 ? Infinity : mostSeries(spec) - closedSeries(spec)
  const isOrdinary = (labels: Labels): boolean => open.some((name) => labels[name] !== OTHER)
  const tree = createTree<Cell>(names)
  const places = new Set<Place<Cell>>()
  let ordinary = 0

  const add = (labels: Labels): Cell => {
    const kept = Object.freeze(Object.fromEntries(names.map((name) => [name, labels[name] ?? OTHER])))
    const cell = make(kept)
    tree.set(kept, cell)
    places.add({ labels: kept, cell })
    if (isOrdinary(kept)) ordinary += 1
    return cell
  }
  const drop = (place: Place<Cell>): void => {
    tree.delete(place.labels)
    places.delete(place)
    if (isOrdinary(place.labels)) ordinary -= 1
  }
  const admit = (labels: Labels): Cell | undefined => {
    const fitting = fitted(sets, withKnownTools(sets, knowsTool, labels))
    if (fitting === undefined) {
      onFold()
      return undefined
    }
    const found = tree.get(fitting)
    if (found !== undefined) return found
    if (!isOrdinary(fitting) || ordinary < room) return add(fitting)
    onFold()
    const folded = { ...fitting, ...Object.fromEntries(open.map((name) => [name, OTHER])) }
    return tree.get(folded) ?? add(folded)
  }

  return {
    cell: (labels) => tree.get(labels) ?? admit(labels),
    expect: (wanted) => {
      const fresh = wanted.filter((labels) => tree.get(labels) === undefined && fitted(sets, labels))
      if (ordinary + fresh.filter(isOrdinary).length <= room) fresh.forEach(add)
    },
    forget: (from, isKnown) => {
      const named = sets.filter(([, set]) => isOpen(set) && set.from === from).map(([name]) => name)
      const isGone = ({ labels }: Place<Cell>): boolean =>
        named.some((name) => labels[name] !== OTHER && !isKnown(labels[name] ?? ''))
      if (named.length > 0) [...places].filter(isGone).forEach(drop)
    },
    clear: () => [...places].forEach(drop),
    all: () => [...places].map(({ cell }) => cell),
  }
}

interface Tree<Cell> {
  get(labels: Labels): Cell | undefined
  set(labels: Labels, cell: Cell): void
  delete(labels: Labels): void
}

function createTree<Cell extends object>(names: readonly string[]): Tree<Cell> {
  // a metric without labels has one cell, under a name that no label has
  const path = names.length === 0 ? [''] : names
  const last = path.length - 1
  const root: Branch<Cell> = new Map()
  const branchOf = (labels: Labels): Branch<Cell> => {
    let branch = root
    for (let i = 0; i < last; i++) {
      const value = labels[path[i] as string] as string
      const next = (branch.get(value) as Branch<Cell> | undefined) ?? new Map()
      branch.set(value, next)
      branch = next
    }
    return branch
  }
  return {
    get: (labels) => {
      let branch: Branch<Cell> | undefined = root
      for (let i = 0; i < last && branch !== undefined; i++)
        branch = branch.get(labels[path[i] as string] as string) as Branch<Cell> | undefined
      return branch?.get(labels[path[last] as string] as string) as Cell | undefined
    },
    set: (labels, cell) => void branchOf(labels).set(labels[path[last] as string] as string, cell),
    delete: (labels) => void branchOf(labels).delete(labels[path[last] as string] as string),
  }
}

function withKnownTools(
  sets: readonly (readonly [string, LabelSet])[],
  knowsTool: (name: string) => boolean,
  labels: Labels,
): Labels {
  const isStrange = ([name, set]: readonly [string, LabelSet]): boolean =>
    isOpen(set) && set.from === 'tools' && !knowsTool(labels[name] ?? OTHER)
  const strange = sets.filter(isStrange).map(([name]) => [name, OTHER])
  return strange.length === 0 ? labels : { ...labels, ...Object.fromEntries(strange) }
}

/** With `_other` for what a closed set does not hold; undefined when it does not hold that either. */
function fitted(sets: readonly (readonly [string, LabelSet])[], labels: Labels): Labels | undefined {
  const values = sets.map(([name, set]): [string, string | undefined] => {
    const value = labels[name] ?? OTHER
    if (isOpen(set) || set.includes(value)) return [name, value]
    return [name, set.includes(OTHER) ? OTHER : undefined]
  })
  return values.some(([, value]) => value === undefined) ? undefined : (Object.fromEntries(values) as Labels)
}

/** Every combination of the values of closed sets; none for a metric with an open one. */
export function closedCombinations({ labels }: MetricSpec): Labels[] {
  return Object.entries<LabelSet>(labels).reduce<Labels[]>(
    (all, [name, set]) =>
      isOpen(set) ? [] : all.flatMap((one) => set.map((value) => ({ ...one, [name]: value }))),
    [{}],
  )
}
