import { METRICS, type MetricName } from '../../src/metrics/table.ts'

/*
 * PromQL of the dashboards. Queries name a metric by its key in the table, so an unknown one does not compile. Every
 * selector obeys the chosen job and instance.
 */

type Of<K extends string> = {
  [N in MetricName]: (typeof METRICS)[N]['kind'] extends K ? N : never
}[MetricName]
export type CounterName = Of<'counter'>
export type GaugeName = Of<'gauge'>
export type HistogramName = Of<'histogram'>

const CHOSEN = ['job=~"$job"', 'instance=~"$instance"']

/** A series of any name from the chosen instances. */
export const chosen = (name: string, ...labels: readonly string[]): string =>
  `${name}{${[...CHOSEN, ...labels].join(',')}}`

export const gauge = (metric: GaugeName, ...labels: readonly string[]): string =>
  chosen(METRICS[metric].name, ...labels)

/** `sum(...)`, or `sum by (a, b) (...)`. */
export function sum(expr: string, ...by: readonly string[]): string {
  return by.length === 0 ? `sum(${expr})` : `sum by (${by.join(', ')}) (${expr})`
}

/** The maximum, for values that every instance counts alike. */
export function most(expr: string, ...by: readonly string[]): string {
  return by.length === 0 ? `max(${expr})` : `max by (${by.join(', ')}) (${expr})`
}

/** Events a second. */
export const rate = (metric: CounterName, ...labels: readonly string[]): string =>
  `rate(${chosen(METRICS[metric].name, ...labels)}[$__rate_interval])`

/** Events within the displayed time range. */
export const within = (metric: CounterName, ...labels: readonly string[]): string =>
  `increase(${chosen(METRICS[metric].name, ...labels)}[$__range])`

/** Observations of a histogram: `_count`, `_sum` or the bucket `le`. */
export const observed = (
  metric: HistogramName,
  end: '_count' | '_sum' | '_bucket',
  ...labels: readonly string[]
): string => `rate(${chosen(METRICS[metric].name + end, ...labels)}[$__rate_interval])`

export function quantile(
  share: number,
  metric: HistogramName,
  by: readonly string[] = [],
  ...labels: readonly string[]
): string {
  return `histogram_quantile(${share}, ${sum(observed(metric, '_bucket', ...labels), 'le', ...by)})`
}

export const top = (count: number, expr: string): string => `topk(${count}, ${expr})`
