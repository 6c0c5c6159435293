/**
 * Every metric of the gateway, in one place. Names are base units with the prefix `countersign_`; counters end in `_total`.
 * Labels are bounded: tools are registered contracts (all others fold into `_other`), rules come from the bundle, and no label
 * ever holds a task, thread, agent or reviewer.
 */
export interface MetricSpec {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly buckets?: readonly number[]
}

const FAST = [0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.005, 0.025, 0.1]
const CALLS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 60]
/** From five seconds to seven days. */
const HUMAN = [5, 30, 60, 300, 900, 1_800, 3_600, 14_400, 28_800, 86_400, 259_200, 604_800]

export const METRICS = {
  evaluations: {
    kind: 'counter',
    name: 'countersign_evaluations_total',
    help: 'Decisions on proposed calls, by decision, assessed risk and registered tool.',
    labels: ['decision', 'risk', 'tool'],
  },
  evaluationSeconds: {
    kind: 'histogram',
    name: 'countersign_evaluation_duration_seconds',
    help: 'Time policy took to decide one call.',
    labels: ['decision'],
    buckets: FAST,
  },
  evaluationFaults: {
    kind: 'counter',
    name: 'countersign_policy_engine_faults_total',
    help: 'Calls rejected because the rules engine failed or disagreed with the rules it ran.',
    labels: ['fault'],
  },
  ruleMatches: {
    kind: 'counter',
    name: 'countersign_rule_matches_total',
    help: 'Calls on which a rule fired, by rule and mode.',
    labels: ['rule', 'mode'],
  },
  shadowChanges: {
    kind: 'counter',
    name: 'countersign_shadow_changes_total',
    help: 'Calls that shadow rules and limits would have decided otherwise, by the decision and what it would have been.',
    labels: ['decision', 'shadow_decision'],
  },
  ruleUnknown: {
    kind: 'counter',
    name: 'countersign_rule_unknown_total',
    help: 'Calls on which a rule fired only because something could not be checked.',
    labels: ['rule'],
  },
  webhookTries: {
    kind: 'counter',
    name: 'countersign_webhook_tries_total',
    help: 'Tries of deliveries, by what became of the delivery and the class of the answer or why there was none.',
    labels: ['result', 'code'],
  },
  webhookSeconds: {
    kind: 'histogram',
    name: 'countersign_webhook_try_duration_seconds',
    help: 'Time one try of a delivery took.',
    labels: ['result'],
    buckets: CALLS,
  },
  webhookLag: {
    kind: 'histogram',
    name: 'countersign_webhook_lag_seconds',
    help: 'Time from an event to its delivery.',
    labels: [],
    buckets: CALLS,
  },
  webhooksWaiting: {
    kind: 'gauge',
    name: 'countersign_webhook_deliveries_waiting',
    help: 'Deliveries that are still to be made, those of paused destinations too.',
    labels: [],
  },
  reviewSeconds: {
    kind: 'histogram',
    name: 'countersign_review_duration_seconds',
    help: 'Time from the submission of a revision to its decision.',
    labels: ['verdict', 'risk'],
    buckets: HUMAN,
  },
  votes: {
    kind: 'counter',
    name: 'countersign_votes_total',
    help: 'Votes of reviewers.',
    labels: ['decision'],
  },
  pending: {
    kind: 'gauge',
    name: 'countersign_threads_pending',
    help: 'Threads that wait for people, by assessed risk.',
    labels: ['risk'],
  },
  oldestPending: {
    kind: 'gauge',
    name: 'countersign_thread_oldest_pending_seconds',
    help: 'Age of the oldest waiting thread.',
    labels: [],
  },
  tokensMinted: {
    kind: 'counter',
    name: 'countersign_tokens_minted_total',
    help: 'Approval tokens handed out.',
    labels: [],
  },
  tokenValidations: {
    kind: 'counter',
    name: 'countersign_token_validations_total',
    help: 'Redemptions and refusals of approval tokens.',
    labels: ['result'],
  },
  revisions: {
    kind: 'counter',
    name: 'countersign_revisions_total',
    help: 'Revisions submitted by agents.',
    labels: ['result'],
  },
  reloads: {
    kind: 'counter',
    name: 'countersign_policy_reloads_total',
    help: 'Loads of the policy bundle.',
    labels: ['result'],
  },
  lastLoad: {
    kind: 'gauge',
    name: 'countersign_policy_last_success_timestamp_seconds',
    help: 'When a bundle was last put in force.',
    labels: [],
  },
  stale: {
    kind: 'gauge',
    name: 'countersign_policy_stale',
    help: '1 while the last load failed and an older bundle, or none, is in force.',
    labels: [],
  },
  policyInfo: {
    kind: 'gauge',
    name: 'countersign_policy_info',
    help: 'The bundle in force.',
    labels: ['digest'],
  },
  commitSeconds: {
    kind: 'histogram',
    name: 'countersign_store_operation_duration_seconds',
    help: 'Time of a store operation until it is durable.',
    labels: ['operation'],
    buckets: CALLS,
  },
  storeErrors: {
    kind: 'counter',
    name: 'countersign_store_errors_total',
    help: 'Store operations that failed or were not confirmed in time.',
    labels: ['operation'],
  },
  httpSeconds: {
    kind: 'histogram',
    name: 'countersign_http_request_duration_seconds',
    help: 'Time to answer a request, by route pattern.',
    labels: ['method', 'route', 'status'],
    buckets: CALLS,
  },
  refused: {
    kind: 'counter',
    name: 'countersign_requests_refused_total',
    help: 'Requests refused unread because the gateway had too much to do, by what they asked for.',
    labels: ['kind'],
  },
  underWay: {
    kind: 'gauge',
    name: 'countersign_requests_under_way',
    help: 'Requests being worked on, by what they ask for; those that only wait are not among them.',
    labels: ['kind'],
  },
  limit: {
    kind: 'gauge',
    name: 'countersign_requests_limit',
    help: 'Requests of agents that may be under way at once, of each of their kinds.',
    labels: [],
  },
  build: {
    kind: 'gauge',
    name: 'countersign_build_info',
    help: 'The version that runs.',
    labels: ['version'],
  },
} as const satisfies Record<string, MetricSpec>

export type MetricName = keyof typeof METRICS
