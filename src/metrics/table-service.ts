import {
  BUDGETS_AND_DISK,
  DELIVERY_CODES,
  METHODS,
  PROBLEMS,
  RELEASE,
  ROUTES,
  STATUSES,
  STORE_OPERATIONS,
} from './labels.ts'
import { REQUEST_KINDS } from '../contract/operation.ts'
import type { MetricSpec } from './metric-spec.ts'

/**
 * Half a second is the bound at which a slow store raises an alert (deploy/prometheus/alerts.yaml). Quantiles between
 * wider bounds are guesses.
 */
const STORE_CALLS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 60]
const CALLS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 60]

export const SERVICE_METRICS = {
  httpRequests: {
    kind: 'counter',
    name: 'countersign_http_requests_total',
    unit: 'requests',
    help: 'Requests answered, by route pattern and status.',
    labels: { method: METHODS, route: ROUTES, status: STATUSES },
    atMost: 560,
  },
  httpSeconds: {
    kind: 'histogram',
    name: 'countersign_http_request_duration_seconds',
    unit: 'seconds',
    help: 'Time to answer a request, by route pattern; of a poll with Prefer: wait, the waiting too.',
    labels: { method: METHODS, route: ROUTES },
    buckets: CALLS,
    atMost: 70,
    exemplar: 'trace_id',
  },
  httpAborted: {
    kind: 'counter',
    name: 'countersign_http_requests_aborted_total',
    unit: 'requests',
    help: 'Requests whose caller was gone before the answer was sent.',
    labels: {},
  },
  problems: {
    kind: 'counter',
    name: 'countersign_problems_total',
    unit: 'answers',
    help: 'Refusals and failures answered, by the stable code of docs/errors.md.',
    labels: { code: PROBLEMS },
  },
  httpInFlight: {
    kind: 'gauge',
    name: 'countersign_http_requests_in_flight',
    unit: 'requests',
    help: 'Requests that are not answered yet, held polls and open streams included.',
    labels: {},
  },
  httpConnections: {
    kind: 'gauge',
    name: 'countersign_http_connections',
    unit: 'connections',
    help: 'Open connections of callers.',
    labels: {},
  },
  pollsHeld: {
    kind: 'gauge',
    name: 'countersign_polls_held',
    unit: 'requests',
    help: 'Polls that are held by Prefer: wait.',
    labels: {},
  },
  streamsOpen: {
    kind: 'gauge',
    name: 'countersign_review_streams',
    unit: 'streams',
    help: 'Consoles and tools that follow the queue by server-sent events.',
    labels: {},
  },
  shed: {
    kind: 'counter',
    name: 'countersign_requests_refused_total',
    unit: 'requests',
    help: 'Requests refused unread because the gateway had too much to do, by what they asked for. They are not among the requests answered.',
    labels: { kind: REQUEST_KINDS },
  },
  underWay: {
    kind: 'gauge',
    name: 'countersign_requests_under_way',
    unit: 'requests',
    help: 'Requests being worked on, by what they ask for. Those in the queue, and those that wait for people or for their bodies, are not among them.',
    labels: { kind: REQUEST_KINDS },
  },
  requestsWaiting: {
    kind: 'gauge',
    name: 'countersign_requests_waiting',
    unit: 'requests',
    help: 'Requests in the queue for a place, by what they ask for.',
    labels: { kind: REQUEST_KINDS },
  },
  overBudget: {
    kind: 'counter',
    name: 'countersign_budget_refusals_total',
    unit: 'requests',
    help: 'Requests refused because a budget of a tenant, agent or reviewer is spent, or the disk is nearly full (disk).',
    labels: { budget: BUDGETS_AND_DISK },
  },
  ready: {
    kind: 'gauge',
    name: 'countersign_ready',
    unit: '0 or 1',
    help: '1 while /readyz answers 200.',
    labels: {},
  },
  clock: {
    kind: 'gauge',
    name: 'countersign_clock_seconds',
    unit: 'seconds since 1970',
    help: "The store's clock at the scrape: deadlines, tokens and expiry go by it.",
    labels: {},
  },
  censusAge: {
    kind: 'gauge',
    name: 'countersign_census_age_seconds',
    unit: 'seconds',
    help: 'How long ago this instance last counted what waits in the store: threads, freezes and deliveries. Until it can again, those metrics keep their last values.',
    labels: {},
  },
  timerRounds: {
    kind: 'counter',
    name: 'countersign_timer_rounds_total',
    unit: 'rounds',
    help: 'Rounds of the timer, which expires, reminds and escalates.',
    labels: { result: ['ok', 'failed'] },
  },
  build: {
    kind: 'gauge',
    name: 'countersign_build_info',
    unit: '1',
    help: 'The version that runs.',
    labels: { version: RELEASE },
    atMost: 2,
  },
  folded: {
    kind: 'counter',
    name: 'countersign_metrics_folded_total',
    unit: 'observations',
    help: 'Observations counted under `_other` because their metric has as many series as it may have.',
    labels: {},
  },
} as const satisfies Record<string, MetricSpec>

export const STORE_METRICS = {
  storeSeconds: {
    kind: 'histogram',
    name: 'countersign_store_operation_duration_seconds',
    unit: 'seconds',
    help: 'Time of a store operation; of a commit, until it is durable.',
    labels: { operation: STORE_OPERATIONS },
    buckets: STORE_CALLS,
  },
  storeErrors: {
    kind: 'counter',
    name: 'countersign_store_errors_total',
    unit: 'operations',
    help: 'Store operations that failed: not executed (unavailable), or not confirmed in time (indeterminate).',
    labels: { operation: STORE_OPERATIONS, error: ['unavailable', 'indeterminate', 'other'] },
  },
  storeConflicts: {
    kind: 'counter',
    name: 'countersign_store_conflicts_total',
    unit: 'commits',
    help: 'Commits that were refused because what they rest on had changed (guard) or came after their deadline (late).',
    labels: { reason: ['guard', 'late'] },
  },
  storeInfo: {
    kind: 'gauge',
    name: 'countersign_store_info',
    unit: '1',
    help: 'What an answer promises: on disk, on replicas, or neither.',
    labels: { durability: ['fsync', 'replicated', 'async'] },
  },
  storeRoom: {
    kind: 'gauge',
    name: 'countersign_store_room_bytes',
    unit: 'bytes',
    help: 'Bytes that can be written until the store refuses writes: of the disk above COUNTERSIGN_STORE_MIN_FREE, of maxmemory of the fullest Redis server. Absent where Redis has no maxmemory.',
    labels: {},
  },
  evidenceRecords: {
    kind: 'counter',
    name: 'countersign_evidence_records_total',
    unit: 'records',
    help: 'Evidence records that this instance made durable.',
    labels: {},
  },
  evidenceLast: {
    kind: 'gauge',
    name: 'countersign_evidence_last_record_timestamp_seconds',
    unit: 'seconds since 1970',
    help: 'Time of the last evidence record that this instance made durable; 0 before the first.',
    labels: {},
  },
  checkpointLag: {
    kind: 'gauge',
    name: 'countersign_checkpoint_lag_seconds',
    unit: 'seconds',
    help: 'Since when a record of this instance waits for a signed checkpoint that covers it; 0 when none does.',
    labels: {},
  },
} as const satisfies Record<string, MetricSpec>

export const WEBHOOK_METRICS = {
  webhookTries: {
    kind: 'counter',
    name: 'countersign_webhook_tries_total',
    unit: 'tries',
    help: 'Tries of deliveries, by what became of the delivery and the class of the answer or why there was none.',
    labels: { result: ['delivered', 'retry', 'dead'], code: DELIVERY_CODES },
  },
  webhookSeconds: {
    kind: 'histogram',
    name: 'countersign_webhook_try_duration_seconds',
    unit: 'seconds',
    help: 'Time one try of a delivery took.',
    labels: { result: ['delivered', 'retry', 'dead'] },
    buckets: CALLS,
  },
  webhookLag: {
    kind: 'histogram',
    name: 'countersign_webhook_lag_seconds',
    unit: 'seconds',
    help: 'Time from an event to its delivery.',
    labels: {},
    buckets: CALLS,
  },
  webhooksWaiting: {
    kind: 'gauge',
    name: 'countersign_webhook_deliveries_waiting',
    unit: 'deliveries',
    help: 'Deliveries that are still to be made, those of paused destinations too. The same on every instance.',
    labels: {},
  },
  webhooksOverdue: {
    kind: 'gauge',
    name: 'countersign_webhook_overdue_seconds',
    unit: 'seconds',
    help: 'Since when the delivery that is most overdue for a try waits for one, of destinations that are not paused; 0 when none is due. The same on every instance.',
    labels: {},
  },
  webhooksPaused: {
    kind: 'gauge',
    name: 'countersign_webhook_destinations_paused',
    unit: 'destinations',
    help: 'Destinations that nothing is sent to, by why. The same on every instance.',
    labels: { reason: ['admin', 'failing', 'gone'] },
  },
} as const satisfies Record<string, MetricSpec>
