import { type Cell, CounterCell, type Exemplar, GaugeCell, HistogramCell } from './cells.ts'
import type { Family } from './exposition.ts'
import type { OpenSet } from '../../metrics/labels.ts'
import { type Admission, closedCombinations, createSeries, type Labels, type Series } from './series.ts'
import type { MetricSpec } from '../../metrics/metric-spec.ts'
import { type LabelsOf, type MetricName, type MetricOf, METRICS } from '../../metrics/table.ts'

/**
 * The metrics of the table as things that count. Nothing here throws, and no metric ever has more series than the table says: what comes over
 * that is counted under `_other`, and in `countersign_metrics_folded_total`.
 */
export interface Instruments {
  count<N extends MetricOf<'counter'>>(name: N, labels: LabelsOf<N>, exemplar?: Exemplar): void
  /** Counts so many at once. */
  add<N extends MetricOf<'counter'>>(name: N, labels: LabelsOf<N>, many: number): void
  observe<N extends MetricOf<'histogram'>>(
    name: N,
    labels: LabelsOf<N>,
    value: number,
    exemplar?: Exemplar,
  ): void
  set<N extends MetricOf<'gauge'>>(name: N, labels: LabelsOf<N>, value: number): void
  /** The gauge has these series and no others from now on. */
  setAll<N extends MetricOf<'gauge'>>(name: N, series: readonly (readonly [LabelsOf<N>, number])[]): void
  /** Makes the series exist at 0, all of them or, when there is no room, none: then they come as they are counted. */
  expect<N extends MetricOf<'counter' | 'histogram'>>(name: N, series: readonly LabelsOf<N>[]): void
  /** Drops the series whose open label of this origin holds a name that is no longer known. */
  forget(from: OpenSet['from'], isKnown: (name: string) => boolean): void
  /** What there is to show. */
  readonly families: readonly Family[]
}

export interface InstrumentOptions {
  /** Told, once for each metric, that it has as many series as it may have. */
  readonly onFull: (metric: string) => void
  /** Is this a registered tool? All others fold into `_other`. */
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
    families: Object.values(all).map(({ spec: { name, kind, help }, series }) => ({
      name,
      type: kind,
      help,
      samples: () => [...series.all()].flatMap((cell) => cell.samples(name)),
    })),
  }
}

/** Without what the table says of the values: the compiler has held them against it. */
const plain = (labels: object): Labels => labels as Labels

interface Instrument {
  readonly spec: MetricSpec
  readonly series: Series<Cell>
  /** Counts, observes or sets. */
  add(labels: Labels, value: number, exemplar?: Exemplar): void
}

function createInstrument(spec: MetricSpec, admission: Admission): Instrument {
  const { kind, buckets = [], exemplar: named } = spec
  const make = (labels: Labels): Cell => {
    if (kind === 'histogram') return new HistogramCell(labels, buckets)
    return kind === 'counter' ? new CounterCell(labels) : new GaugeCell(labels)
  }
  const series = createSeries(spec, make, admission)
  if (kind !== 'gauge' || Object.keys(spec.labels).length === 0) series.expect(closedCombinations(spec))
  return {
    spec,
    series,
    add: (labels, value, exemplar) =>
      series.cell(labels)?.add(value, named === undefined ? undefined : exemplar),
  }
}
