import { kindOf } from '../../events/events.ts'
import type { EvidenceRecord } from '../../gateway/core/event-record.ts'
import type { Exemplar, Instruments } from './instruments.ts'
import { type Meter, type MetricName, METRICS } from '../../metrics/table.ts'
import { traceOf } from './trace.ts'
import type { MetricSpec } from '../../metrics/metric-spec.ts'

/** Counts evidence records by their rows in the table of events, so that metrics and evidence agree. */
export interface EvidenceCounter {
  count(record: EvidenceRecord): void
  /** Fired shadow rules since start, by rule id. */
  readonly shadowCounts: ReadonlyMap<string, number>
  /** The last record that became durable. */
  last(): EvidenceRecord | undefined
}

export function createEvidenceCounter(instruments: Instruments): EvidenceCounter {
  const shadowCounts = new Map<string, number>()
  let last: EvidenceRecord | undefined
  const meter: Meter = {
    count: (name, labels) => instruments.count(name, labels, exemplarOf(name, last)),
    observe: (name, labels, value) => instruments.observe(name, labels, value, exemplarOf(name, last)),
  }
  return {
    shadowCounts,
    last: () => last,
    count(record) {
      instruments.count('evidenceRecords', NO_LABELS)
      last = record
      const { details, tool, type } = record
      kindOf(type)?.count?.(meter, { details: details ?? {}, tool })
      if (details === undefined || !('shadow' in details)) return
      for (const rule of details.shadow ?? []) shadowCounts.set(rule, (shadowCounts.get(rule) ?? 0) + 1)
    },
  }
}

const NO_LABELS = {}

function exemplarOf(name: MetricName, record: EvidenceRecord | undefined): Exemplar | undefined {
  const { exemplar }: MetricSpec = METRICS[name]
  if (exemplar === undefined || record === undefined) return undefined
  const { thread_id, details } = record
  if (exemplar === 'thread_id') return thread_id === undefined ? undefined : { thread_id }
  return details !== undefined && 'traceparent' in details ? traceOf(details.traceparent) : undefined
}
