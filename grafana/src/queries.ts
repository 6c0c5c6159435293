import { METRICS, type MetricName } from '../../src/metrics/table.ts'

/*
 * PromQL of the dashboards. Metrics are named by their key in the table, so that one that does not exist does not compile, and every selector
 * obeys the choice of job and instance.
 */

type Of<K extends string> = {
  [N in MetricName]: (typeof METRICS)[N]['kind'] extends K ? N : never
}[MetricName]
export type CounterName = Of<'counter'>
export type GaugeName = Of<'gauge'>
export type HistogramName = Of<'histogram'>

const CHOSEN = ['job=~"$job"', 'instance=~"$instance"']

/** A series of any name, of the chosen instances. */
export const chosen = (name: string, ...labels: readonly string[]): string =>
  `${name}{${[...CHOSEN, ...labels].join(',')}}`

export const gauge = (metric: GaugeName, ...labels: readonly string[]): string =>
  chosen(METRICS[metric].name, ...labels)

/** `sum(...)`, or `sum by (a, b) (...)`. */
export function sum(expr: string, ...by: readonly string[]): string {
  return by.length === 0 ? `sum(${expr})` : `sum by (${by.join(', ')}) (${expr})`
}

/** What every instance counts alike is not added up. */
export function most(expr: string, ...by: readonly string[]): string {
  return by.length === 0 ? `max(${expr})` : `max by (${by.join(', ')}) (${expr})`
}

/** Events a second. */
export const rate = (metric: CounterName, ...labels: readonly string[]): string =>
  `rate(${chosen(METRICS[metric].name, ...labels)}[$__rate_interval])`

/** Events within the time that is shown. */
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
