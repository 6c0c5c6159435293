import { isOpen, type LabelSet, type OpenSet, OTHER } from '../../metrics/labels.ts'
import type { MetricSpec } from '../../metrics/metric-spec.ts'
import { closedSeries, mostSeries } from '../../metrics/table.ts'

/**
 * The series of one metric, at most as many as the table allows. This module must admit every label set before it is
 * counted. Each series has a place, where its instrument keeps what it has counted.
 */
export interface Series<Place> {
  /** Returns the place to count in; undefined when the table has no room. */
  admit(labels: Labels): Place | undefined
  /** Creates all of these series with the value 0, or none when there is no room for all. */
  expect(wanted: readonly Labels[]): void
  /** Drops the series whose open label of this origin contains a name that is no longer known. */
  forget(from: OpenSet['from'], isKnown: (name: string) => boolean): void
  clear(): void
}

export interface SeriesHooks<Place> {
  /** Called for a tool without a series. An unknown tool counts under `_other`, but not as folded. */
  readonly knowsTool: (name: string) => boolean
  /** Called when there is no room. The observation counts under `_other`, or is lost. */
  readonly onFold: () => void
  readonly onStart: (labels: Labels) => Place
  readonly onEnd: (place: Place, labels: Labels) => void
}

interface Started<Place> {
  readonly labels: Labels
  readonly place: Place
}

export function createSeries<Place>(spec: MetricSpec, hooks: SeriesHooks<Place>): Series<Place> {
  const { knowsTool, onFold, onStart, onEnd } = hooks
  const sets = Object.entries<LabelSet>(spec.labels)
  const names = sets.map(([name]) => name)
  const open = sets.filter(([, set]) => isOpen(set)).map(([name]) => name)
  // the series under `_other` always have room
  const room = open.length === 0 ? Infinity : mostSeries(spec) - closedSeries(spec)
  const isOrdinary = (labels: Labels): boolean => open.some((name) => labels[name] !== OTHER)
  const all = new Set<Started<Place>>()
  const tree = createTree<Place>(names)
  const known = (labels: Labels): Place | undefined => tree.get(labels)
  let ordinary = 0

  const start = (labels: Labels): Place => {
    const kept = Object.freeze(Object.fromEntries(names.map((name) => [name, labels[name] ?? OTHER])))
    const started = { labels: kept, place: onStart(kept) }
    tree.add(kept, started.place)
    all.add(started)
    if (isOrdinary(kept)) ordinary += 1
    return started.place
  }
  const end = (started: Started<Place>): void => {
    tree.drop(started.labels)
    all.delete(started)
    if (isOrdinary(started.labels)) ordinary -= 1
    onEnd(started.place, started.labels)
  }
  const startOrFold = (labels: Labels): Place | undefined => {
    const fitting = fitted(sets, withKnownTools(sets, knowsTool, labels))
    if (fitting === undefined) {
      onFold()
      return undefined
    }
    const found = known(fitting)
    if (found !== undefined) return found
    if (!isOrdinary(fitting) || ordinary < room) return start(fitting)
    onFold()
    const folded = { ...fitting, ...Object.fromEntries(open.map((name) => [name, OTHER])) }
    return known(folded) ?? start(folded)
  }

  return {
    admit: (labels) => known(labels) ?? startOrFold(labels),
    expect: (wanted) => {
      const fresh = wanted.filter((labels) => known(labels) === undefined && fitted(sets, labels))
      if (ordinary + fresh.filter(isOrdinary).length <= room) fresh.forEach((labels) => start(labels))
    },
    forget: (from, isKnown) => {
      const named = sets.filter(([, set]) => isOpen(set) && set.from === from).map(([name]) => name)
      const isGone = ({ labels }: Started<Place>): boolean =>
        named.some((name) => labels[name] !== OTHER && !isKnown(labels[name] ?? ''))
      if (named.length > 0) [...all].filter(isGone).forEach(end)
    },
    clear: () => [...all].forEach(end),
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

/** Returns the labels with `_other` for values outside a closed set; undefined when the set has no `_other`. */
function fitted(sets: readonly (readonly [string, LabelSet])[], labels: Labels): Labels | undefined {
  const values = sets.map(([name, set]): [string, string | undefined] => {
    const value = labels[name] ?? OTHER
    if (isOpen(set) || set.includes(value)) return [name, value]
    return [name, set.includes(OTHER) ? OTHER : undefined]
  })
  return values.some(([, value]) => value === undefined) ? undefined : (Object.fromEntries(values) as Labels)
}

/** Returns every combination of the values of closed sets; an empty list for a metric with an open set. */
export function closedCombinations({ labels }: MetricSpec): Labels[] {
  return Object.entries<LabelSet>(labels).reduce<Labels[]>(
    (all, [name, set]) =>
      isOpen(set) ? [] : all.flatMap((one) => set.map((value) => ({ ...one, [name]: value }))),
    [{}],
  )
}

export type Labels = Readonly<Record<string, string>>

/**
 * The places of series by their labels, in one level for each label. Every count looks up a place, and a joined key
 * would be a new string that V8 must hash.
 */
export interface LabelTree<Place> {
  get(labels: Labels): Place | undefined
  add(labels: Labels, place: Place): void
  /** Drops a place, with the levels that are then empty. */
  drop(labels: Labels): void
}

interface Level<Place> {
  readonly next: Map<string | undefined, Level<Place>>
  place: Place | undefined
}

export function createTree<Place>(names: readonly string[]): LabelTree<Place> {
  const top: Level<Place> = { next: new Map(), place: undefined }
  return {
    get(labels) {
      let level: Level<Place> | undefined = top
      for (const name of names) {
        level = level.next.get(labels[name])
        if (level === undefined) return undefined
      }
      return level.place
    },
    add(labels, place) {
      let level = top
      for (const name of names) {
        const next: Level<Place> = level.next.get(labels[name]) ?? { next: new Map(), place: undefined }
        level.next.set(labels[name], next)
        level = next
      }
      level.place = place
    },
    drop: (labels) => drop(top, names, labels),
  }
}

function drop(level: Level<unknown>, [name, ...rest]: readonly string[], labels: Labels): void {
  if (name === undefined) {
    level.place = undefined
    return
  }
  const next = level.next.get(labels[name])
  if (next === undefined) return
  drop(next, rest, labels)
  if (next.place === undefined && next.next.size === 0) level.next.delete(labels[name])
}
