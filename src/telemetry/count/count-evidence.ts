import { kindOf } from '../../events/events.ts'
import type { EvidenceRecord } from '../../gateway/core/event-record.ts'
import type { Exemplar, Instruments } from './instruments.ts'
import { type MetricName, METRICS } from '../../metrics/table.ts'
import { traceOf } from '../tracing/trace.ts'
import type { MetricSpec } from '../../metrics/metric-spec.ts'

/** The state that counting keeps in addition to the metrics. */
export interface EvidenceContext {
  /** Fired shadow rules since start, by rule id. */
  readonly shadowCounts: Map<string, number>
  /** The last record that became durable. */
  last: EvidenceRecord | undefined
}

/** Counts one record by its row in the table of events, so that metrics and evidence agree. */
export function countEvidence(
  instruments: Instruments,
  record: EvidenceRecord,
  context: EvidenceContext,
): void {
  instruments.count('evidenceRecords', {})
  context.last = record
  const { details, tool } = record
  kindOf(record.type)?.count?.(
    {
      count: (name, labels) => instruments.count(name, labels, exemplarOf(name, record)),
      observe: (name, labels, value) => instruments.observe(name, labels, value, exemplarOf(name, record)),
    },
    { details: details ?? {}, tool },
  )
  if (details === undefined || !('shadow' in details)) return
  const { shadowCounts } = context
  for (const rule of details.shadow ?? []) shadowCounts.set(rule, (shadowCounts.get(rule) ?? 0) + 1)
}

function exemplarOf(name: MetricName, { thread_id, details }: EvidenceRecord): Exemplar | undefined {
  const { exemplar }: MetricSpec = METRICS[name]
  if (exemplar === 'thread_id') return thread_id === undefined ? undefined : { thread_id }
  if (exemplar === undefined || details === undefined || !('traceparent' in details)) return undefined
  return traceOf(details.traceparent)
}
