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
 * A slow store raises an alert at half a second (deploy/prometheus/alerts.yaml). With wider buckets, quantiles would be
 * guesses.
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
    help: 'Time to answer a request, by route pattern. For a poll with Prefer: wait, it includes the wait.',
    labels: { method: METHODS, route: ROUTES },
    buckets: CALLS,
    atMost: 70,
    exemplar: 'trace_id',
  },
  httpAborted: {
    kind: 'counter',
    name: 'countersign_http_requests_aborted_total',
    unit: 'requests',
    help: 'Requests whose caller disconnected before the answer was sent.',
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
    help: 'Requests without an answer yet, including held polls and open streams.',
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
    help: 'Consoles and tools that follow the queue through server-sent events.',
    labels: {},
  },
  shed: {
    kind: 'counter',
    name: 'countersign_requests_refused_total',
    unit: 'requests',
    help: 'Requests refused before they were read because the gateway was overloaded, by kind. The answered requests do not include them.',
    labels: { kind: REQUEST_KINDS },
  },
  underWay: {
    kind: 'gauge',
    name: 'countersign_requests_under_way',
    unit: 'requests',
    help: 'Requests in progress, by kind. Requests in the queue, held polls and requests without their body are not included.',
    labels: { kind: REQUEST_KINDS },
  },
  requestsWaiting: {
    kind: 'gauge',
    name: 'countersign_requests_waiting',
    unit: 'requests',
    help: 'Requests in the queue, by kind.',
    labels: { kind: REQUEST_KINDS },
  },
  overBudget: {
    kind: 'counter',
    name: 'countersign_budget_refusals_total',
    unit: 'requests',
    help: 'Requests refused because a budget of a tenant, agent or reviewer is exhausted, or because the disk is nearly full (disk).',
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
    help: "The store's clock at the scrape. Deadlines, proofs and expiry depend on it.",
    labels: {},
  },
  censusAge: {
    kind: 'gauge',
    name: 'countersign_census_age_seconds',
    unit: 'seconds',
    help: 'Time since this instance last counted the threads, freezes and deliveries in the store. Until the next count, those metrics keep their last values.',
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
    help: 'The running version.',
    labels: { version: RELEASE },
    atMost: 2,
  },
  folded: {
    kind: 'counter',
    name: 'countersign_metrics_folded_total',
    unit: 'observations',
    help: 'Observations counted under `_other` because their metric has no room for another series.',
    labels: {},
  },
} as const satisfies Record<string, MetricSpec>

export const STORE_METRICS = {
  storeSeconds: {
    kind: 'histogram',
    name: 'countersign_store_operation_duration_seconds',
    unit: 'seconds',
    help: 'Time of a store operation. A commit ends when it is durable.',
    labels: { operation: STORE_OPERATIONS },
    buckets: STORE_CALLS,
  },
  storeErrors: {
    kind: 'counter',
    name: 'countersign_store_errors_total',
    unit: 'operations',
    help: 'Failed store operations: not executed (unavailable), or not confirmed in time (indeterminate).',
    labels: { operation: STORE_OPERATIONS, error: ['unavailable', 'indeterminate', 'other'] },
  },
  storeConflicts: {
    kind: 'counter',
    name: 'countersign_store_conflicts_total',
    unit: 'commits',
    help: 'Commits refused because a record that they depend on had changed (guard), or because they were too late (late).',
    labels: { reason: ['guard', 'late'] },
  },
  storeInfo: {
    kind: 'gauge',
    name: 'countersign_store_info',
    unit: '1',
    help: 'Durability of an answered commit: on disk, on replicas, or neither.',
    labels: { durability: ['fsync', 'replicated', 'async'] },
  },
  storeRoom: {
    kind: 'gauge',
    name: 'countersign_store_room_bytes',
    unit: 'bytes',
    help: 'Bytes left until the store refuses writes: free disk above COUNTERSIGN_STORE_MIN_FREE, or memory below maxmemory of the fullest Redis server. Absent if Redis has no maxmemory.',
    labels: {},
  },
  storeLost: {
    kind: 'gauge',
    name: 'countersign_store_lost',
    unit: '0 or 1',
    help: '1 after the store was emptied or set back under this gateway, which then decides and signs nothing until it is started again.',
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
    help: 'Age of the oldest record of this instance that no signed checkpoint covers; 0 if all are covered.',
    labels: {},
  },
} as const satisfies Record<string, MetricSpec>

export const WEBHOOK_METRICS = {
  webhookTries: {
    kind: 'counter',
    name: 'countersign_webhook_tries_total',
    unit: 'tries',
    help: 'Tries of deliveries, by result, and by class of the answer or the reason that it is missing.',
    labels: { result: ['delivered', 'retry', 'dead'], code: DELIVERY_CODES },
  },
  webhookSeconds: {
    kind: 'histogram',
    name: 'countersign_webhook_try_duration_seconds',
    unit: 'seconds',
    help: 'Time of one try of a delivery.',
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
    help: 'Deliveries that have not succeeded yet, including those of paused destinations. The same on every instance.',
    labels: {},
  },
  webhooksOverdue: {
    kind: 'gauge',
    name: 'countersign_webhook_overdue_seconds',
    unit: 'seconds',
    help: 'Delay of the most overdue delivery; 0 if no delivery is due. Paused destinations are not included. The same on every instance.',
    labels: {},
  },
  webhooksPaused: {
    kind: 'gauge',
    name: 'countersign_webhook_destinations_paused',
    unit: 'destinations',
    help: 'Destinations that receive no deliveries, by reason. The same on every instance.',
    labels: { reason: ['admin', 'failing', 'gone'] },
  },
} as const satisfies Record<string, MetricSpec>
