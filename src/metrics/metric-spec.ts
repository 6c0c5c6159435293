import type { LabelSet } from './labels.ts'

/** A row of the table of metrics (table.ts). */
export interface MetricSpec {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly name: string
  /** The unit of the count or measurement. */
  readonly unit: string
  readonly help: string
  readonly labels: Readonly<Record<string, LabelSet>>
  readonly buckets?: readonly number[]
  /**
   * The maximum number of series. Present only with an open label; otherwise the product of the closed
   * sets applies.
   */
  readonly atMost?: number
  /** The kind of id in an exemplar. */
  readonly exemplar?: 'trace_id' | 'thread_id'
}
