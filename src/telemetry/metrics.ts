import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { RISKS } from '../domain/decision.ts'
import type { Observation } from '../gateway/deps.ts'
import type { EvidenceRecord } from '../gateway/evidence.ts'
import { METRICS, type MetricName, type MetricSpec } from './table.ts'

export interface Metrics {
  readonly registry: Registry
  /** Counts one observation of a verb. Never throws. */
  observe(observation: Observation): void
  observeHttp(request: { method: string; route: string; status: number; seconds: number }): void
  /** One try of a delivery; `lagMs` is the time from the event to its delivery. */
  observeDelivery(tried: { result: string; code: string; seconds: number; lagMs?: number }): void
  /** How many requests of agents may be under way at once; of each kind, how many are, and how many were refused since the last time. */
  observeGate(sight: { limit: number } & Readonly<Record<'underWay' | 'refused', CountsByKind>>): void
  observeLoad(load: { ok: boolean; revision?: string; atSeconds: number }): void
  /** Fired shadow rules since start, by rule id. */
  readonly shadowCounts: ReadonlyMap<string, number>
}

type CountsByKind = Readonly<Record<string, number>>

export interface MetricSources {
  readonly version: string
  /** Is this a registered tool? All others fold into `_other`. */
  knowsTool(name: string): boolean
  census(): Promise<Census>
}

/** Waiting threads by risk, and the creation time of the oldest in ms. */
export interface Census {
  readonly pending: ReadonlyMap<string, number>
  readonly oldestAgeMs: number
  readonly deliveries: number
}

export const OTHER_TOOL = '_other'

export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const { counters, gauges, histograms } = instruments(registry)
  const shadowCounts = new Map<string, number>()
  initialise(counters)
  gauges.build.set({ version: sources.version }, 1)
  collectCensus(gauges, sources)

  const onEvidence = (record: EvidenceRecord): void => {
    countDecision(counters, record, sources)
    countReview(counters, histograms, record)
    for (const rule of idsOf(record, 'shadow')) shadowCounts.set(rule, (shadowCounts.get(rule) ?? 0) + 1)
  }
  return {
    registry,
    shadowCounts,
    observe: (observation) => {
      if (observation.kind === 'evidence') onEvidence(observation.record)
      else count(counters, histograms, observation)
    },
    observeHttp: ({ method, route, status, seconds }) => {
      histograms.httpSeconds.observe({ method, route, status: String(status) }, seconds)
    },
    observeDelivery: ({ result, code, seconds, lagMs }) => {
      counters.webhookTries.inc({ result, code })
      histograms.webhookSeconds.observe({ result }, seconds)
      if (lagMs !== undefined) histograms.webhookLag.observe({}, lagMs / 1000)
    },
    observeGate: ({ limit, underWay, refused }) => {
      gauges.limit.set(limit)
      for (const [kind, count] of Object.entries(underWay)) gauges.underWay.set({ kind }, count)
      for (const [kind, count] of Object.entries(refused)) counters.refused.inc({ kind }, count)
    },
    observeLoad: ({ ok, revision, atSeconds }) => {
      counters.reloads.inc({ result: ok ? 'ok' : 'failed' })
      gauges.stale.set(ok ? 0 : 1)
      if (!ok) return
      gauges.lastLoad.set(atSeconds)
      gauges.policyInfo.reset()
      gauges.policyInfo.set({ digest: revision ?? '' }, 1)
    },
  }
}

type Of<K extends MetricSpec['kind'], T> = {
  [N in MetricName as (typeof METRICS)[N]['kind'] extends K ? N : never]: T
}
type Counters = Of<'counter', Counter>
type Gauges = Of<'gauge', Gauge>
type Histograms = Of<'histogram', Histogram>

function instruments(registry: Registry): { counters: Counters; gauges: Gauges; histograms: Histograms } {
  const made: Record<string, Record<string, unknown>> = { counter: {}, gauge: {}, histogram: {} }
  for (const [key, spec] of Object.entries<MetricSpec>(METRICS)) {
    const common = { name: spec.name, help: spec.help, labelNames: [...spec.labels], registers: [registry] }
    const metric =
      spec.kind === 'counter'
        ? new Counter(common)
        : spec.kind === 'gauge'
          ? new Gauge(common)
          : new Histogram({ ...common, buckets: [...(spec.buckets ?? [])] })
    ;(made[spec.kind] as Record<string, unknown>)[key] = metric
  }
  return {
    counters: made['counter'] as Counters,
    gauges: made['gauge'] as Gauges,
    histograms: made['histogram'] as Histograms,
  }
}

const FIRST_TRIES = [
  ['delivered', '2xx'],
  ['retry', 'timeout'],
  ['retry', '5xx'],
  ['dead', '5xx'],
] as const

/** Series exist from the first scrape, so that rates and alerts work from the first event. */
function initialise(counters: Counters): void {
  for (const result of ['valid', 'invalid', 'expired', 'used']) counters.tokenValidations.inc({ result }, 0)
  for (const result of ['accepted', 'rejected']) counters.revisions.inc({ result }, 0)
  for (const kind of ['propose', 'follow', 'people']) counters.refused.inc({ kind }, 0)
  for (const [result, code] of FIRST_TRIES) counters.webhookTries.inc({ result, code }, 0)
  for (const result of ['ok', 'failed']) counters.reloads.inc({ result }, 0)
  for (const decision of ['approve', 'reject', 'request_changes']) counters.votes.inc({ decision }, 0)
  for (const fault of ['engine_error', 'engine_mismatch']) counters.evaluationFaults.inc({ fault }, 0)
  counters.storeErrors.inc({ operation: 'commit' }, 0)
}

function count(
  counters: Counters,
  histograms: Histograms,
  observation: Exclude<Observation, { kind: 'evidence' }>,
): void {
  switch (observation.kind) {
    case 'evaluated':
      histograms.evaluationSeconds.observe({ decision: observation.verdict }, observation.seconds)
      if (observation.fault !== undefined) counters.evaluationFaults.inc({ fault: observation.fault })
      return
    case 'validated':
      counters.tokenValidations.inc({ result: observation.result })
      return
    case 'revision':
      counters.revisions.inc({ result: observation.result })
      return
    case 'store':
      histograms.commitSeconds.observe({ operation: observation.operation }, observation.seconds)
      if (observation.failed) counters.storeErrors.inc({ operation: observation.operation })
  }
}

const DECISIONS: Partial<Record<EvidenceRecord['type'], string>> = {
  'decision.allowed': 'allow',
  'decision.rejected': 'reject',
  'review.pending': 'review',
}

function countDecision(counters: Counters, record: EvidenceRecord, sources: MetricSources): void {
  const decision = DECISIONS[record.type]
  if (decision !== undefined) {
    const tool = record.tool !== undefined && sources.knowsTool(record.tool) ? record.tool : OTHER_TOOL
    counters.evaluations.inc({ decision, risk: textOf(record, 'risk'), tool })
  }
  countShadow(counters, record)
  for (const rule of idsOf(record, 'rules')) counters.ruleMatches.inc({ rule, mode: 'enforced' })
  for (const rule of idsOf(record, 'shadow')) counters.ruleMatches.inc({ rule, mode: 'shadow' })
  for (const rule of idsOf(record, 'unknown')) counters.ruleUnknown.inc({ rule })
}

function countShadow(counters: Counters, { details }: EvidenceRecord): void {
  const { verdict, shadow_outcome: shadow } = (details ?? {}) as {
    readonly verdict?: string
    readonly shadow_outcome?: { readonly verdict: string }
  }
  if (verdict === undefined || shadow === undefined || shadow.verdict === verdict) return
  counters.shadowChanges.inc({ decision: verdict, shadow_decision: shadow.verdict })
}

const CLOSED: Partial<Record<EvidenceRecord['type'], string>> = {
  'review.approved': 'approved',
  'review.rejected': 'rejected',
  'review.changes_requested': 'changes_requested',
  'review.expired': 'expired',
}

function countReview(counters: Counters, histograms: Histograms, record: EvidenceRecord): void {
  if (record.type === 'vote.cast') counters.votes.inc({ decision: textOf(record, 'decision') })
  if (record.type === 'token.minted') counters.tokensMinted.inc()
  const verdict = CLOSED[record.type]
  const waited = record.details?.['waited_ms']
  if (verdict === undefined || typeof waited !== 'number') return
  histograms.reviewSeconds.observe({ verdict, risk: textOf(record, 'risk') }, waited / 1000)
}

function textOf(record: EvidenceRecord, member: string): string {
  const value = record.details?.[member]
  return typeof value === 'string' ? value : 'none'
}

function idsOf(record: EvidenceRecord, member: string): readonly string[] {
  const value = record.details?.[member]
  return Array.isArray(value) ? (value as string[]) : []
}

/** Asked at a scrape only, by each of the two gauges. While the store cannot answer they keep their last value. */
function collectCensus(gauges: Gauges, sources: MetricSources): void {
  const ask = (): Promise<Census | undefined> => sources.census().catch(() => undefined)
  const fillPending = async (): Promise<void> => {
    const census = await ask()
    for (const risk of RISKS) if (census) gauges.pending.set({ risk }, census.pending.get(risk) ?? 0)
  }
  const fillOldest = async (): Promise<void> => {
    const census = await ask()
    if (census) gauges.oldestPending.set(census.oldestAgeMs / 1000)
  }
  const fillWaiting = async (): Promise<void> => {
    const census = await ask()
    if (census) gauges.webhooksWaiting.set(census.deliveries)
  }
  Object.assign(gauges.webhooksWaiting, { collect: fillWaiting })
  Object.assign(gauges.pending, { collect: fillPending })
  Object.assign(gauges.oldestPending, { collect: fillOldest })
}
