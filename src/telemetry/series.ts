import { isOpen, type LabelSet, type OpenSet, OTHER } from './labels.ts'
import { closedSeries, type MetricSpec, mostSeries } from './table.ts'

export type Labels = Readonly<Record<string, string>>

/** The series that one metric has. Every label set passes here before it counts, so that there are never more than the table allows. */
export interface Series {
  /** The labels to count under; undefined when the table has no place for them. */
  admit(labels: Labels): Labels | undefined
  /** Admits all of these, or none when there is no room; returns those that are new. */
  expect(wanted: readonly Labels[]): Labels[]
  /** Drops, and returns, the series whose open label of this origin holds a name that is no longer known. */
  forget(from: OpenSet['from'], isKnown: (name: string) => boolean): Labels[]
  clear(): void
}

/** `onFold`: something was counted under `_other`, or not at all. */
export function createSeries(spec: MetricSpec, onFold: () => void): Series {
  const names = Object.keys(spec.labels)
  const sets = Object.entries<LabelSet>(spec.labels)
  const open = sets.filter(([, set]) => isOpen(set)).map(([name]) => name)
  // the series under `_other` always find their place
  const room = open.length === 0 ? Infinity : mostSeries(spec) - closedSeries(spec)
  const known = new Map<string, Labels>()
  let ordinary = 0

  const keyOf = (labels: Labels): string => {
    let key = ''
    for (const name of names) key += `${labels[name]}\n`
    return key
  }
  const isOrdinary = (labels: Labels): boolean => open.some((name) => labels[name] !== OTHER)
  const remember = (key: string, labels: Labels): Labels => {
    const kept = Object.freeze({ ...labels })
    known.set(key, kept)
    if (isOrdinary(kept)) ordinary += 1
    return kept
  }
  const drop = (key: string, labels: Labels): void => {
    known.delete(key)
    if (isOrdinary(labels)) ordinary -= 1
  }
  const admitNew = (labels: Labels): Labels | undefined => {
    const fitting = fitted(sets, labels)
    if (fitting === undefined) {
      onFold()
      return undefined
    }
    const key = keyOf(fitting)
    const found = known.get(key)
    if (found !== undefined) return found
    if (!isOrdinary(fitting) || ordinary < room) return remember(key, fitting)
    onFold()
    const folded = { ...fitting, ...Object.fromEntries(open.map((name) => [name, OTHER])) }
    return known.get(keyOf(folded)) ?? remember(keyOf(folded), folded)
  }

  return {
    admit: (labels) => known.get(keyOf(labels)) ?? admitNew(labels),
    expect: (wanted) => {
      const fresh = wanted.filter((labels) => !known.has(keyOf(labels)) && fitted(sets, labels) !== undefined)
      if (ordinary + fresh.filter(isOrdinary).length > room) return []
      return fresh.map((labels) => remember(keyOf(labels), labels))
    },
    forget: (from, isKnown) => {
      const named = sets.filter(([, set]) => isOpen(set) && set.from === from).map(([name]) => name)
      const gone = [...known].filter(([, labels]) =>
        named.some((name) => labels[name] !== OTHER && !isKnown(labels[name] ?? '')),
      )
      for (const [key, labels] of gone) drop(key, labels)
      return gone.map(([, labels]) => labels)
    },
    clear: () => {
      known.clear()
      ordinary = 0
    },
  }
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
