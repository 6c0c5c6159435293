/**
 * Holds: the table of metrics, with their labels and bounds.
 * Imports: contract, domain.
 * Start: table-reviews.ts, then table.ts.
 */
import type { LabelSet } from './labels.ts'

/** A row of the table of metrics (table.ts). */
export interface MetricSpec {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly name: string
  /** What is counted or measured. */
  readonly unit: string
  readonly help: string
  readonly labels: Readonly<Record<string, LabelSet>>
  readonly buckets?: readonly number[]
  /** Most series; only where a label is open, else the product of the closed sets says it. */
  readonly atMost?: number
  /** What an exemplar of it names. */
  readonly exemplar?: 'trace_id' | 'thread_id'
}
