import { collectDefaultMetrics, type Metric, Registry } from 'prom-client'
import { kindOf } from '../../events/events.ts'
import { type Exemplar, type Instruments, traceOf, createInstruments } from './instruments.ts'
import { type Meter, type MetricName, METRICS, type LabelsOf } from '../../metrics/table.ts'
import type { MetricSpec } from '../../metrics/metric-spec.ts'
import type { ErrorCode } from '../../contract/errors.ts'
import type { Observation } from '../../gateway/core/deps.ts'
import type { EvidenceRecord } from '../../gateway/core/event-record.ts'
import type { Store } from '../../store/store.ts'
import { countLoad, countWithdrawal, type Load, type Withdrawn } from './count-load.ts'
import { createExposition, type Exposition, type Format } from './exposition.ts'
import type { ChatResult, ShedConnection } from '../../metrics/labels.ts'
import { createReader, type Readings } from './gauges.ts'
import { errorKind, observeStore, type StoreCall } from './store-calls.ts'

/** Counters for the adapters. The counters never throw. */
export interface Metrics {
  /** Counts one observation of a verb. */
  readonly observe: (observation: Observation) => void
  readonly observeHttp: (request: HttpRequest) => void
  /** Counts a caller that left before its answer. */
  readonly observeAborted: () => void
  readonly observeShedConnection: (how: ShedConnection) => void
  /** Counts one attempt of a delivery. `lagMs` is the time from the event to its delivery. */
  readonly observeDelivery: (tried: Tried) => void
  readonly observeClick: (result: ChatResult) => void
  /** Counts a message that was sent to a chat or rewritten there. */
  readonly observeChatMessage: (what: 'post' | 'rewrite', result: 'sent' | 'gone' | 'failed') => void
  readonly chatConnected: (is: boolean) => void
  readonly observeLoad: (load: Load) => void
  readonly observeWithdrawal: (withdrawn: Withdrawn) => void
  /** Returns the store, with its calls counted. */
  readonly observed: (store: Store) => Store
  /** Counts one round of the timer. */
  readonly observeTimer: (ok: boolean) => void
  /** Creates the series of a route before its first request. */
  readonly expectRoute: (route: { readonly method: string; readonly route: string }) => void
  /** Reads the gauges, and writes all metrics. */
  readonly scrape: (format: Format) => Promise<Exposition>
  /** Fired shadow rules since start, by rule id. */
  readonly shadowCounts: ReadonlyMap<string, number>
}

export interface HttpRequest {
  readonly method: string
  /** The route's pattern, never the path. */
  readonly route: string
  readonly status: number
  readonly seconds: number
  /** The error code of a refusal. */
  readonly problem?: ErrorCode | undefined
  readonly traceparent?: string | undefined
}

export interface Tried {
  readonly result: string
  readonly code: string
  readonly seconds: number
  readonly lagMs?: number
}

export interface MetricSources extends Readings {
  readonly version: string
  /** Called once for each metric that reaches its maximum number of series. */
  readonly onFull: (metric: string) => void
}

export function createMetrics(sources: MetricSources): Metrics {
  const instruments = createInstruments({
    onFull: sources.onFull,
    knowsTool: (name) => sources.knowsTool(name),
  })
  const expose = createExposition([...instruments.metrics, ...collectNodeMetrics()])
  const evidence = createEvidenceCounter(instruments)
  const read = createReader(instruments, sources)
  instruments.set('build', { version: sources.version }, 1)
  return {
    shadowCounts: evidence.shadowCounts,
    observe: (observation) =>
      observation.kind === 'evidence'
        ? evidence.count(observation.record)
        : observe(instruments, observation),
    observeHttp: (request) => countRequest(instruments, request),
    observeAborted: () => instruments.count('httpAborted', {}),
    observeShedConnection: (how) => instruments.count('connectionsShed', { how }),
    observeDelivery: (tried) => countTry(instruments, tried),
    observeClick: (result) => instruments.count('chatClicks', { result }),
    observeChatMessage: (what, result) => instruments.count('chatMessages', { what, result }),
    chatConnected: (is) => instruments.set('chatConnected', { chat: 'slack' }, is ? 1 : 0),
    observeLoad: (load) => countLoad(instruments, load),
    observeWithdrawal: (withdrawn) => countWithdrawal(instruments, withdrawn),
    observed: (store) => observeStore(store, (call) => countStoreCall(instruments, call)),
    observeTimer: (ok) => instruments.count('timerRounds', { result: ok ? 'ok' : 'failed' }),
    expectRoute: (route) => expectRoute(instruments, route),
    scrape: async (format) => {
      instruments.set('evidenceLast', {}, timeOf(evidence.last()))
      await read()
      return expose(format)
    },
  }
}

/** Returns the time of a record, in seconds since 1970; 0 without a record. */
const timeOf = (record: EvidenceRecord | undefined): number =>
  record === undefined ? 0 : Date.parse(record.at) / 1000

type Observed = Exclude<Observation, { kind: 'evidence' }>

const OBSERVE: {
  readonly [K in Observed['kind']]: (to: Instruments, one: Extract<Observed, { kind: K }>) => void
} = {
  evaluated(to, { verdict: decision, seconds, fault, traceparent }) {
    to.observe('evaluationSeconds', { decision }, seconds, traceOf(traceparent))
    if (fault !== undefined) to.count('evaluationFaults', { fault })
  },
  commit: countCommit,
  validated: (to, { result }) => to.count('tokenValidations', { result }),
  revision: (to, { result }) => to.count('revisions', { result }),
  over_budget: (to, { budget }) => to.count('overBudget', { budget }),
  replayed: (to, { decision }) => to.count('replays', { decision }),
  unbound: (to, { tool }) => to.count('filesUnbound', { tool }),
  voted: (to, { decision, lookedMs, thread_id }) =>
    to.observe('attention', { decision }, lookedMs / 1000, { thread_id }),
  sign_in_failed: (to, { via, problem: result }) => to.count('signIns', { via, result }),
}

function observe(instruments: Instruments, observation: Observed): void {
  const count = OBSERVE[observation.kind] as (to: Instruments, one: Observed) => void
  count(instruments, observation)
}

function countRequest(instruments: Instruments, request: HttpRequest): void {
  const { route, status, seconds, problem, traceparent } = request
  const method = request.method as LabelsOf<'httpRequests'>['method']
  instruments.count('httpRequests', { method, route, status: String(status) })
  instruments.observe('httpSeconds', { method, route }, seconds, traceOf(traceparent))
  if (problem !== undefined) instruments.count('problems', { code: problem })
}

/** Statuses whose series exist with the value 0 from the start, because alerts watch them. */
const EXPECTED_STATUSES = ['200', '500', '503']

function expectRoute(instruments: Instruments, known: { method: string; route: string }): void {
  const { route } = known
  const method = known.method as LabelsOf<'httpRequests'>['method']
  instruments.expect(
    'httpRequests',
    EXPECTED_STATUSES.map((status) => ({ method, route, status })),
  )
  instruments.expect('httpSeconds', [{ method, route }])
}

function countTry(instruments: Instruments, { seconds, lagMs, ...tried }: Tried): void {
  const labels = tried as LabelsOf<'webhookTries'>
  instruments.count('webhookTries', { result: labels.result, code: labels.code })
  instruments.observe('webhookSeconds', { result: labels.result }, seconds)
  if (lagMs !== undefined) instruments.observe('webhookLag', {}, lagMs / 1000)
}

function countStoreCall(instruments: Instruments, { operation, seconds, error }: StoreCall): void {
  instruments.observe('storeSeconds', { operation }, seconds)
  if (error !== undefined) instruments.count('storeErrors', { operation, error })
}

const COMMIT = { operation: 'commit' } as const

function countCommit(
  instruments: Instruments,
  { seconds, result, error }: Extract<Observation, { kind: 'commit' }>,
): void {
  instruments.observe('storeSeconds', COMMIT, seconds)
  if (result === undefined) instruments.count('storeErrors', { ...COMMIT, error: errorKind(error) })
  else if (!result.ok) instruments.count('storeConflicts', { reason: result.reason })
}

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

/** Omitted gauges: gauges with the name of a counter, and gauges that `nodejs_active_resources` covers. */
const LEFT_OUT = [
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** Returns the metrics of the process and of its event loop. */
export function collectNodeMetrics(): Metric[] {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of LEFT_OUT) registry.removeSingleMetric(name)
  return registry.getMetricsAsArray().flatMap(({ name }) => registry.getSingleMetric(name) ?? [])
}
