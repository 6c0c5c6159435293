import { isOpen, type LabelSet, type OpenSet, OTHER } from '../../metrics/labels.ts'
import type { MetricSpec } from '../../metrics/metric-spec.ts'
import { closedSeries, mostSeries } from '../../metrics/table.ts'

export type Labels = Readonly<Record<string, string>>

/**
 * The series of one metric, at most as many as the table allows. This module must admit every label set before it is
 * counted.
 */
export interface Series {
  /** Returns the labels to count under; undefined when the table has no place for them. */
  admit(labels: Labels): Labels | undefined
  /** Creates all of these series with the value 0, or none when there is no room for all. */
  expect(wanted: readonly Labels[]): void
  /** Drops the series whose open label of this origin contains a name that is no longer known. */
  forget(from: OpenSet['from'], isKnown: (name: string) => boolean): void
  clear(): void
}

export interface SeriesHooks {
  /** Called for a tool without a series. An unknown tool counts under `_other`, but not as folded. */
  readonly knowsTool: (name: string) => boolean
  /** Called when there is no room. The observation counts under `_other`, or is lost. */
  readonly onFold: () => void
  readonly onStart: (labels: Labels) => void
  readonly onEnd: (labels: Labels) => void
}

export function createSeries(spec: MetricSpec, { knowsTool, onFold, onStart, onEnd }: SeriesHooks): Series {
  const sets = Object.entries<LabelSet>(spec.labels)
  const names = sets.map(([name]) => name)
  const open = sets.filter(([, set]) => isOpen(set)).map(([name]) => name)
  // the series under `_other` always have room
  const room = open.length === 0 ? Infinity : mostSeries(spec) - closedSeries(spec)
  const isOrdinary = (labels: Labels): boolean => open.some((name) => labels[name] !== OTHER)
  // this runs for each count, and joining an array would cost three times as much
  const keyOf = (labels: Labels): string => {
    let key = ''
    for (const name of names) key += `${labels[name]}\n`
    return key
  }
  const known = new Map<string, Labels>()
  let ordinary = 0

  const start = (labels: Labels): Labels => {
    const kept = Object.freeze(Object.fromEntries(names.map((name) => [name, labels[name] ?? OTHER])))
    known.set(keyOf(kept), kept)
    if (isOrdinary(kept)) ordinary += 1
    onStart(kept)
    return kept
  }
  const end = (labels: Labels): void => {
    known.delete(keyOf(labels))
    if (isOrdinary(labels)) ordinary -= 1
    onEnd(labels)
  }
  const startOrFold = (labels: Labels): Labels | undefined => {
    const fitting = fitted(sets, withKnownTools(sets, knowsTool, labels))
    if (fitting === undefined) {
      onFold()
      return undefined
    }
    const found = known.get(keyOf(fitting))
    if (found !== undefined) return found
    if (!isOrdinary(fitting) || ordinary < room) return start(fitting)
    onFold()
    const folded = { ...fitting, ...Object.fromEntries(open.map((name) => [name, OTHER])) }
    return known.get(keyOf(folded)) ?? start(folded)
  }

  return {
    admit: (labels) => known.get(keyOf(labels)) ?? startOrFold(labels),
    expect: (wanted) => {
      const fresh = wanted.filter((labels) => !known.has(keyOf(labels)) && fitted(sets, labels))
      if (ordinary + fresh.filter(isOrdinary).length <= room) fresh.forEach(start)
    },
    forget: (from, isKnown) => {
      const named = sets.filter(([, set]) => isOpen(set) && set.from === from).map(([name]) => name)
      const isGone = (labels: Labels): boolean =>
        named.some((name) => labels[name] !== OTHER && !isKnown(labels[name] ?? ''))
      if (named.length > 0) [...known.values()].filter(isGone).forEach(end)
    },
    clear: () => [...known.values()].forEach(end),
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
