import { Counter, Gauge, Histogram } from 'prom-client'
import type { BirthRegistry } from './exposition.ts'
import type { OpenSet } from './labels.ts'
import { closedCombinations, createSeries, type Labels } from './series.ts'
import { type MetricName, METRICS, type MetricSpec } from './table.ts'

type Of<K extends MetricSpec['kind']> = {
  [N in MetricName]: (typeof METRICS)[N]['kind'] extends K ? N : never
}[MetricName]
type ValueOf<S> = S extends readonly (infer V)[] ? V : string

/** The labels of a metric, each with the values that the table gives it. */
export type LabelsOf<N extends MetricName> = {
  readonly [L in keyof (typeof METRICS)[N]['labels']]: ValueOf<(typeof METRICS)[N]['labels'][L]>
}
/** What names one call among those that were counted together: a trace or a thread. */
export type Exemplar = Readonly<Record<string, string>>

/**
 * The metrics of the table as things that count. Nothing here throws, and no metric ever has more series than the table says: what comes over
 * that is counted under `_other`, and in `countersign_metrics_folded_total`.
 */
export interface Instruments {
  count<N extends Of<'counter'>>(name: N, labels: LabelsOf<N>, exemplar?: Exemplar): void
  observe<N extends Of<'histogram'>>(name: N, labels: LabelsOf<N>, value: number, exemplar?: Exemplar): void
  set<N extends Of<'gauge'>>(name: N, labels: LabelsOf<N>, value: number): void
  /** The gauge has these series and no others from now on. */
  setAll<N extends Of<'gauge'>>(name: N, series: readonly (readonly [LabelsOf<N>, number])[]): void
  /** Makes the series exist at 0, all of them or, when there is no room, none: then they come as they are counted. */
  expect<N extends Of<'counter' | 'histogram'>>(name: N, series: readonly LabelsOf<N>[]): void
  /** Drops the series whose open label of this origin holds a name that is no longer known. */
  forget(from: OpenSet['from'], isKnown: (name: string) => boolean): void
}

/** `onFull` is told, once for each metric, that it has as many series as it may have. */
export function createInstruments(registry: BirthRegistry, onFull: (metric: string) => void): Instruments {
  const full = new Set<string>()
  const onFold = (metric: string): void => {
    all.folded.count({})
    if (full.has(metric)) return
    full.add(metric)
    onFull(metric)
  }
  const all = Object.fromEntries(
    Object.entries<MetricSpec>(METRICS).map(([key, spec]) => [key, createInstrument(spec, registry, onFold)]),
  ) as Record<MetricName, Instrument>
  return {
    count: (name, labels, exemplar) => all[name].count(plain(labels), exemplar),
    observe: (name, labels, value, exemplar) => all[name].observe(plain(labels), value, exemplar),
    set: (name, labels, value) => all[name].set(plain(labels), value),
    setAll: (name, series) => {
      all[name].clear()
      for (const [labels, value] of series) all[name].set(plain(labels), value)
    },
    expect: (name, series) => all[name].expect(series.map(plain)),
    forget: (from, isKnown) => {
      for (const instrument of Object.values(all)) instrument.forget(from, isKnown)
    },
  }
}

/** Without what the table says of the values: the compiler has held them against it. */
const plain = (labels: object): Labels => labels as Labels

/** One metric; a counter is only counted, a histogram only observed, and a gauge only set. */
interface Instrument {
  count(labels: Labels, exemplar?: Exemplar): void
  observe(labels: Labels, value: number, exemplar?: Exemplar): void
  set(labels: Labels, value: number): void
  clear(): void
  expect(series: readonly Labels[]): void
  forget(from: OpenSet['from'], isKnown: (name: string) => boolean): void
}

function createInstrument(
  spec: MetricSpec,
  registry: BirthRegistry,
  onFold: (metric: string) => void,
): Instrument {
  const series = createSeries(spec, () => onFold(spec.name))
  const metric = metricOf(spec, registry)
  const expect = (wanted: readonly Labels[]): void => {
    for (const labels of series.expect(wanted)) metric.zero(labels)
  }
  if (spec.kind !== 'gauge') expect(closedCombinations(spec))
  const admitted = (labels: Labels, use: (admitted: Labels) => void): void => {
    const found = series.admit(labels)
    if (found !== undefined) use(found)
  }
  return {
    count: (labels, exemplar) => admitted(labels, (found) => metric.add(found, 1, exemplar)),
    observe: (labels, value, exemplar) => admitted(labels, (found) => metric.add(found, value, exemplar)),
    set: (labels, value) => admitted(labels, (found) => metric.add(found, value)),
    clear: () => {
      series.clear()
      metric.reset()
    },
    expect,
    forget: (from, isKnown) => {
      for (const labels of series.forget(from, isKnown)) metric.remove(labels)
    },
  }
}

/** What prom-client gives for the three kinds, spoken to in one way. */
interface Backing {
  /** Counts, observes or sets. */
  add(labels: Labels, value: number, exemplar?: Exemplar): void
  zero(labels: Labels): void
  remove(labels: Labels): void
  reset(): void
}

function metricOf(spec: MetricSpec, registry: BirthRegistry): Backing {
  const { name, help, buckets = [], exemplar } = spec
  const enableExemplars = exemplar !== undefined
  const common = { name, help, labelNames: Object.keys(spec.labels), registers: [registry], enableExemplars }
  if (spec.kind === 'counter') return counterOf(new Counter(common), enableExemplars)
  if (spec.kind === 'histogram')
    return histogramOf(new Histogram({ ...common, buckets: [...buckets] }), enableExemplars)
  const gauge = new Gauge({ ...common, enableExemplars: false })
  return {
    add: (labels, value) => gauge.set(labels, value),
    zero: (labels) => gauge.set(labels, 0),
    remove: (labels) => gauge.remove(labels),
    reset: () => gauge.reset(),
  }
}

const NONE: Exemplar = {}

/** A metric with exemplars takes its arguments in another form, whether there is one or not. */
function counterOf(counter: Counter, exemplars: boolean): Backing {
  const add: Backing['add'] = exemplars
    ? (labels, value, exemplarLabels = NONE) =>
        counter.inc(exemplarLabels === NONE ? { labels, value } : { labels, value, exemplarLabels })
    : (labels, value) => counter.inc(labels, value)
  return {
    add,
    zero: (labels) => add(labels, 0),
    remove: (labels) => counter.remove(labels),
    reset: () => counter.reset(),
  }
}

function histogramOf(histogram: Histogram, exemplars: boolean): Backing {
  return {
    add: exemplars
      ? (labels, value, exemplarLabels = NONE) => histogram.observe({ labels, value, exemplarLabels })
      : (labels, value) => histogram.observe(labels, value),
    zero: (labels) => histogram.zero(labels),
    remove: (labels) => histogram.remove(labels),
    reset: () => histogram.reset(),
  }
}
