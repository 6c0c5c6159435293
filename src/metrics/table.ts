import { isOpen } from './labels.ts'
import type { MetricSpec } from './metric-spec.ts'
import { DECISION_METRICS } from './table-decisions.ts'
import { REVIEW_METRICS } from './table-reviews.ts'
import { CHAT_METRICS, SERVICE_METRICS, STORE_METRICS, WEBHOOK_METRICS } from './table-service.ts'

/**
 * Every metric of the gateway. Names are base units with the prefix `countersign_`; counters end in `_total`. Labels
 * never contain a task, thread, agent, reviewer or tenant. The total never exceeds `MAX_SAMPLES`, regardless of agents'
 * calls and bundles' content.
 *
 * A new metric needs a row here, a panel in grafana/src/, and code that counts it. docs/metrics.md is generated from
 * the table.
 *
 * Areas group the metrics in docs/metrics.md.
 */
export const AREAS = {
  'Decisions and policy': DECISION_METRICS,
  'Reviews, proofs and people': REVIEW_METRICS,
  Service: SERVICE_METRICS,
  'Store and evidence': STORE_METRICS,
  Webhooks: WEBHOOK_METRICS,
  Chat: CHAT_METRICS,
} as const

export const METRICS = {
  ...DECISION_METRICS,
  ...REVIEW_METRICS,
  ...SERVICE_METRICS,
  ...STORE_METRICS,
  ...WEBHOOK_METRICS,
  ...CHAT_METRICS,
}

export type MetricName = keyof typeof METRICS

/** The metrics of a kind. */
export type MetricOf<K extends MetricSpec['kind']> = {
  [N in MetricName]: (typeof METRICS)[N]['kind'] extends K ? N : never
}[MetricName]
type ValueOf<S> = S extends readonly (infer V)[] ? V : string

/** The labels of a metric, each with its values in the table. */
export type LabelsOf<N extends MetricName> = {
  readonly [L in keyof (typeof METRICS)[N]['labels']]: ValueOf<(typeof METRICS)[N]['labels'][L]>
}

/** Counts evidence records (src/events/); the exemplar comes from the record. */
export interface Meter {
  count<N extends MetricOf<'counter'>>(name: N, labels: LabelsOf<N>): void
  observe<N extends MetricOf<'histogram'>>(name: N, labels: LabelsOf<N>, value: number): void
}

/** Maximum number of samples from one instance, including Node's own metrics. */
export const MAX_SAMPLES = 5_500
/** Maximum number of samples from Node's own metrics. */
export const NODE_SAMPLES = 200

/** Returns the number of combinations of the values of closed sets. */
export function closedSeries({ labels }: MetricSpec): number {
  return Object.values(labels).reduce((all, set) => all * (isOpen(set) ? 1 : set.length), 1)
}

export const mostSeries = (spec: MetricSpec): number => spec.atMost ?? closedSeries(spec)

/** Returns the number of lines in one series. A histogram has a line for each bucket, `+Inf`, sum and count. */
export const samplesPerSeries = ({ buckets }: MetricSpec): number =>
  buckets === undefined ? 1 : buckets.length + 3
