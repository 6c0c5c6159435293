import { isOpen } from './labels.ts'
import type { MetricSpec } from './metric-spec.ts'
import { DECISION_METRICS } from './table-decisions.ts'
import { REVIEW_METRICS } from './table-reviews.ts'
import { SERVICE_METRICS, STORE_METRICS, WEBHOOK_METRICS } from './table-service.ts'

/**
 * Every metric of the gateway. Names are base units with the prefix `countersign_`; counters end in `_total`. No label ever holds a task, thread,
 * agent, reviewer or tenant, and all of them together are never more than `MAX_SAMPLES`, whatever agents send and bundles hold.
 *
 * A new metric is a row here, a panel in grafana/src/, and what counts it: docs/metrics.md is made from the table.
 *
 * For docs/metrics.md every metric stands in one area.
 */
export const AREAS = {
  'Decisions and policy': DECISION_METRICS,
  'Reviews, proofs and people': REVIEW_METRICS,
  Service: SERVICE_METRICS,
  'Store and evidence': STORE_METRICS,
  Webhooks: WEBHOOK_METRICS,
} as const

export const METRICS = {
  ...DECISION_METRICS,
  ...REVIEW_METRICS,
  ...SERVICE_METRICS,
  ...STORE_METRICS,
  ...WEBHOOK_METRICS,
}

export type MetricName = keyof typeof METRICS

/** The metrics of a kind. */
export type MetricOf<K extends MetricSpec['kind']> = {
  [N in MetricName]: (typeof METRICS)[N]['kind'] extends K ? N : never
}[MetricName]
type ValueOf<S> = S extends readonly (infer V)[] ? V : string

/** The labels of a metric, each with the values that the table gives it. */
export type LabelsOf<N extends MetricName> = {
  readonly [L in keyof (typeof METRICS)[N]['labels']]: ValueOf<(typeof METRICS)[N]['labels'][L]>
}

/** Counts what becomes evidence (src/events/); the exemplar comes from the record. */
export interface Meter {
  count<N extends MetricOf<'counter'>>(name: N, labels: LabelsOf<N>): void
  observe<N extends MetricOf<'histogram'>>(name: N, labels: LabelsOf<N>, value: number): void
}

/** What one instance shows at the most, Node's own metrics included. */
export const MAX_SAMPLES = 5_000
/** Of which Node's own are less than this. */
export const NODE_SAMPLES = 200

/** Series in which only closed sets differ: one for each combination of their values. */
export function closedSeries({ labels }: MetricSpec): number {
  return Object.values(labels).reduce((all, set) => all * (isOpen(set) ? 1 : set.length), 1)
}

export const mostSeries = (spec: MetricSpec): number => spec.atMost ?? closedSeries(spec)

/** Lines of one series: a histogram has one for each bucket, `+Inf`, sum and count. */
export const samplesPerSeries = ({ buckets }: MetricSpec): number =>
  buckets === undefined ? 1 : buckets.length + 3
