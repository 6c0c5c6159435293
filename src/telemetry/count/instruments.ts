import { Counter, Gauge, Histogram, type Metric } from 'prom-client'
import type { OpenSet } from '../../metrics/labels.ts'
import { closedCombinations, createSeries, type Labels, type Series, type SeriesHooks } from './series.ts'
import type { MetricSpec } from '../../metrics/metric-spec.ts'
import { type LabelsOf, type MetricName, type MetricOf, METRICS } from '../../metrics/table.ts'

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
  readonly series: Series
  /** Counts, observes or sets. */
  add(labels: Labels, value: number, exemplar?: Exemplar): void
}

function createInstrument(
  spec: MetricSpec,
  admission: Pick<SeriesHooks, 'knowsTool' | 'onFold'>,
): Instrument {
  const { metric, add, onStart } = createCounting(spec)
  const series = createSeries(spec, { ...admission, onStart, onEnd: (labels) => metric.remove(labels) })
  if (spec.kind !== 'gauge' || Object.keys(spec.labels).length === 0) series.expect(closedCombinations(spec))
  return {
    metric,
    series,
    add: (labels, value, exemplar) => {
      // prom-client throws for other numbers, and a count must not fail a verb
      const admitted = Number.isFinite(value) ? series.admit(labels) : undefined
      if (admitted !== undefined) add(admitted, value, spec.exemplar && exemplar)
    },
  }
}

interface Counting {
  readonly metric: Counter | Gauge | Histogram
  readonly add: Instrument['add']
  readonly onStart: (labels: Labels) => void
}

function createCounting({ kind, name, help, labels: sets, buckets = [] }: MetricSpec): Counting {
  const shared = { name, help, labelNames: Object.keys(sets), registers: [], enableExemplars: true }
  if (kind === 'gauge') {
    const metric = new Gauge(shared)
    const set = (labels: Labels, value: number): void => metric.set(labels, value)
    return { metric, add: set, onStart: (labels) => set(labels, 0) }
  }
  if (kind === 'counter') {
    const metric = new Counter(shared)
    const add: Counting['add'] = (labels, value, exemplarLabels) =>
      metric.inc(countedOf(labels, value, exemplarLabels))
    return { metric, add, onStart: (labels) => add(labels, 0) }
  }
  const metric = new Histogram({ ...shared, buckets: [...buckets] })
  const add: Counting['add'] = (labels, value, exemplarLabels) =>
    metric.observe(countedOf(labels, value, exemplarLabels))
  return { metric, add, onStart: (labels) => metric.zero(labels) }
}

interface Counted {
  readonly labels: Labels
  readonly value: number
  readonly exemplarLabels?: Exemplar
}

/**
 * Raises the value to at least 0. A duration between two gateways' clocks may be negative, but a sum must never
 * decrease.
 */
function countedOf(labels: Labels, given: number, exemplarLabels: Exemplar | undefined): Counted {
  const value = Math.max(0, given)
  return exemplarLabels === undefined ? { labels, value } : { labels, value, exemplarLabels }
}
