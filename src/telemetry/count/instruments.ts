import { Counter, Gauge, Histogram, type Metric } from 'prom-client'
import { isOpen, type LabelSet, type OpenSet, OTHER } from '../../metrics/labels.ts'
import type { MetricSpec } from '../../metrics/metric-spec.ts'
import {
  closedSeries,
  type LabelsOf,
  type MetricName,
  type MetricOf,
  METRICS,
  mostSeries,
} from '../../metrics/table.ts'

/** The trace or the thread of one of the counted calls. */
export type Exemplar = Readonly<Record<string, string>>

/**
 * The metrics of the table, counted by prom-client. Nothing here throws. No metric has more series than the table
 * allows: further label sets count under `_other`, and in `countersign_metrics_folded_total`.
 */
export interface Instruments {
  count<N extends MetricOf<'counter'>>(name: N, labels: LabelsOf<N>, exemplar?: Exemplar): void
  /** Adds `many` to a counter. */
  add<N extends MetricOf<'counter'>>(name: N, labels: LabelsOf<N>, many: number): void
  observe<N extends MetricOf<'histogram'>>(
    name: N,
    labels: LabelsOf<N>,
    value: number,
    exemplar?: Exemplar,
  ): void
  set<N extends MetricOf<'gauge'>>(name: N, labels: LabelsOf<N>, value: number): void
  /** Replaces all series of a gauge. */
  setAll<N extends MetricOf<'gauge'>>(name: N, series: readonly (readonly [LabelsOf<N>, number])[]): void
  /** Creates all of these series with the value 0. Without room for all, each series is created at its first count. */
  expect<N extends MetricOf<'counter' | 'histogram'>>(name: N, series: readonly LabelsOf<N>[]): void
  /** Drops the series whose open label of this origin contains a name that is no longer known. */
  forget(from: OpenSet['from'], isKnown: (name: string) => boolean): void
  readonly metrics: readonly Metric[]
}

export interface InstrumentOptions {
  /** Called once for each metric that reaches its maximum number of series. */
  readonly onFull: (metric: string) => void
  /** Returns true for a registered tool. All other tools count under `_other`. */
  readonly knowsTool: (name: string) => boolean
}

export function createInstruments({ onFull, knowsTool }: InstrumentOptions): Instruments {
  const full = new Set<string>()
  const onFold = (metric: string): void => {
    all.folded.add({}, 1)
    if (full.has(metric)) return
    full.add(metric)
    onFull(metric)
  }
  const all = Object.fromEntries(
    Object.entries<MetricSpec>(METRICS).map(([key, spec]) => [
      key,
      createInstrument(spec, { knowsTool, onFold: () => onFold(spec.name) }),
    ]),
  ) as Record<MetricName, Instrument>
  return {
    count: (name, labels, exemplar) => all[name].add(plain(labels), 1, exemplar),
    add: (name, labels, many) => all[name].add(plain(labels), many),
    observe: (name, labels, value, exemplar) => all[name].add(plain(labels), value, exemplar),
    set: (name, labels, value) => all[name].add(plain(labels), value),
    setAll: (name, series) => {
      all[name].series.clear()
      for (const [labels, value] of series) all[name].add(plain(labels), value)
    },
    expect: (name, series) => all[name].series.expect(series.map(plain)),
    forget: (from, isKnown) => {
      for (const { series } of Object.values(all)) series.forget(from, isKnown)
    },
    metrics: Object.values(all).map(({ metric }) => metric),
  }
}

/** Widens the type of labels. The compiler has checked the values of labels against the table. */
const plain = (labels: object): Labels => labels as Labels

interface Instrument {
  readonly metric: Metric
  readonly series: Omit<Series<unknown>, 'admit'>
  /** Counts, observes or sets. */
  add(labels: Labels, value: number, exemplar?: Exemplar): void
}

function createInstrument(spec: MetricSpec, admission: Admission): Instrument {
  const instrument = CREATE[spec.kind](spec, admission)
  const { series } = instrument
  if (spec.kind !== 'gauge' || Object.keys(spec.labels).length === 0) series.expect(closedCombinations(spec))
  return instrument
}

type Admission = Pick<SeriesHooks<unknown>, 'knowsTool' | 'onFold'>

const configOf = ({ name, help, labels }: MetricSpec) => ({
  name,
  help,
  labelNames: Object.keys(labels),
  registers: [],
  enableExemplars: true,
})

/** The value of one series, until the next scrape takes it to prom-client. */
interface Pending {
  readonly labels: Labels
  value: number
}

interface Scraped<M> {
  readonly create: (config: ReturnType<typeof configOf> & { collect(): void }) => M
  /** Keeps a value until the next scrape. */
  readonly keep: (place: Pending, value: number) => void
  /** Takes the value of a series to prom-client. */
  readonly take: (metric: M, place: Pending) => void
}

/**
 * Creates a metric that gets its values only at a scrape. For each value, prom-client would join the labels of the
 * series to a key.
 */
const createScraped =
  <M extends Counter | Gauge>({ create, keep, take }: Scraped<M>) =>
  (spec: MetricSpec, admission: Admission): Instrument => {
    const changed = new Set<Pending>()
    const metric = create({
      ...configOf(spec),
      collect() {
        for (const place of changed) take(metric, place)
        changed.clear()
      },
    })
    const series = createSeries<Pending>(spec, {
      ...admission,
      onStart(labels) {
        const place = { labels, value: 0 }
        take(metric, place)
        return place
      },
      onEnd(place) {
        changed.delete(place)
        metric.remove(place.labels)
      },
    })
    return {
      metric,
      series,
      add(labels, value, exemplar) {
        const place = admitted(series, labels, value)
        if (place === undefined) return
        if (exemplar !== undefined && spec.exemplar !== undefined && metric instanceof Counter)
          return metric.inc(countedOf(place.labels, value, exemplar))
        keep(place, value)
        changed.add(place)
      },
    }
  }

const createCounter = createScraped({
  create: (config) => new Counter(config),
  keep(place, value) {
    place.value += Math.max(0, value)
  },
  take(metric, place) {
    metric.inc(countedOf(place.labels, place.value))
    place.value = 0
  },
})

const createGauge = createScraped({
  create: (config) => new Gauge(config),
  keep(place, value) {
    place.value = value
  },
  take: (metric, { labels, value }) => metric.set(labels, value),
})

function createHistogram(spec: MetricSpec, admission: Admission): Instrument {
  const metric = new Histogram({ ...configOf(spec), buckets: [...(spec.buckets ?? [])] })
  const series = createSeries<Labels>(spec, {
    ...admission,
    onStart: (labels) => {
      metric.zero(labels)
      return labels
    },
    onEnd: (labels) => metric.remove(labels),
  })
  return {
    metric,
    series,
    add(labels, value, exemplar) {
      const place = admitted(series, labels, value)
      if (place !== undefined) metric.observe(countedOf(place, value, spec.exemplar && exemplar))
    },
  }
}

const CREATE: Readonly<Record<MetricSpec['kind'], (spec: MetricSpec, admission: Admission) => Instrument>> = {
  counter: createCounter,
  gauge: createGauge,
  histogram: createHistogram,
}

/** The place of a number. prom-client throws for other values, and a count must not fail a verb. */
const admitted = <Place>(series: Series<Place>, labels: Labels, value: number): Place | undefined =>
  Number.isFinite(value) ? series.admit(labels) : undefined

interface Counted {
  readonly labels: Labels
  readonly value: number
  readonly exemplarLabels?: Exemplar
}

/**
 * Raises the value to at least 0. A duration between two gateways' clocks may be negative, but a sum must never
 * decrease.
 */
function countedOf(labels: Labels, given: number, exemplarLabels?: Exemplar): Counted {
  const value = Math.max(0, given)
  return exemplarLabels === undefined ? { labels, value } : { labels, value, exemplarLabels }
}

/** Returns the trace of a W3C traceparent (version 00) as an exemplar. */
export function traceOf(traceparent: string | undefined): Exemplar | undefined {
  return traceparent === undefined ? undefined : { trace_id: traceparent.slice(3, 35) }
}

/**
 * The series of one metric, at most as many as the table allows. This module must admit every label set before it is
 * counted. Each series has a place, where its instrument keeps what it has counted.
 */
interface Series<Place> {
  /** Returns the place to count in; undefined when the table has no room. */
  admit(labels: Labels): Place | undefined
  /** Creates all of these series with the value 0, or none when there is no room for all. */
  expect(wanted: readonly Labels[]): void
  /** Drops the series whose open label of this origin contains a name that is no longer known. */
  forget(from: OpenSet['from'], isKnown: (name: string) => boolean): void
  clear(): void
}

interface SeriesHooks<Place> {
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

function createSeries<Place>(spec: MetricSpec, hooks: SeriesHooks<Place>): Series<Place> {
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
function closedCombinations({ labels }: MetricSpec): Labels[] {
  return Object.entries<LabelSet>(labels).reduce<Labels[]>(
    (all, [name, set]) =>
      isOpen(set) ? [] : all.flatMap((one) => set.map((value) => ({ ...one, [name]: value }))),
    [{}],
  )
}

type Labels = Readonly<Record<string, string>>

interface Level<Place> {
  readonly next: Map<string | undefined, Level<Place>>
  place: Place | undefined
}

/**
 * The places of series by their labels, in one level for each label. Every count looks up a place, and a joined key
 * would be a new string that V8 must hash.
 */
export function createTree<Place>(names: readonly string[]) {
  const top: Level<Place> = { next: new Map(), place: undefined }
  return {
    get(labels: Labels): Place | undefined {
      let level: Level<Place> | undefined = top
      for (const name of names) {
        level = level.next.get(labels[name])
        if (level === undefined) return undefined
      }
      return level.place
    },
    add(labels: Labels, place: Place): void {
      let level = top
      for (const name of names) {
        const next: Level<Place> = level.next.get(labels[name]) ?? { next: new Map(), place: undefined }
        level.next.set(labels[name], next)
        level = next
      }
      level.place = place
    },
    /** Drops a place, with the levels that are then empty. */
    drop: (labels: Labels): void => drop(top, names, labels),
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
