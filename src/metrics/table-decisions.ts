import { BUNDLE, REJECTION_REASONS, RISKS, RULES, TOOLS, VERDICTS } from './labels.ts'
import type { MetricSpec } from './metric-spec.ts'

/** Buckets from 10 us, because policy takes a small part of a request. */
const FAST = [0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.005, 0.025, 0.1]

export const DECISION_METRICS = {
  evaluations: {
    kind: 'counter',
    name: 'countersign_evaluations_total',
    unit: 'calls',
    help: 'Decisions on proposed calls, by decision, assessed risk and registered tool.',
    labels: { decision: VERDICTS, risk: RISKS, tool: TOOLS },
    atMost: 900,
    exemplar: 'trace_id',
  },
  rejections: {
    kind: 'counter',
    name: 'countersign_rejections_total',
    unit: 'calls',
    help: 'Calls rejected at once, by reason: a rule, no matching rule, or a code.',
    labels: { reason: REJECTION_REASONS },
  },
  evaluationSeconds: {
    kind: 'histogram',
    name: 'countersign_evaluation_duration_seconds',
    unit: 'seconds',
    help: 'Time for policy to decide one call.',
    labels: { decision: VERDICTS },
    buckets: FAST,
    exemplar: 'trace_id',
  },
  evaluationFaults: {
    kind: 'counter',
    name: 'countersign_policy_engine_faults_total',
    unit: 'calls',
    help: 'Calls rejected because the rules engine failed, or disagreed with the rules that it ran.',
    labels: { fault: ['engine_error', 'engine_mismatch'] },
  },
  replays: {
    kind: 'counter',
    name: 'countersign_idempotent_replays_total',
    unit: 'calls',
    help: 'Calls with a repeated Idempotency-Key that got the first answer again, by decision.',
    labels: { decision: VERDICTS },
  },
  ruleMatches: {
    kind: 'counter',
    name: 'countersign_rule_matches_total',
    unit: 'calls',
    help: 'Calls for which a rule fired, by rule and mode.',
    labels: { rule: RULES, mode: ['enforced', 'shadow'] },
    atMost: 800,
  },
  ruleUnknown: {
    kind: 'counter',
    name: 'countersign_rule_unknown_total',
    unit: 'calls',
    help: 'Calls for which a rule fired only because a value could not be checked.',
    labels: { rule: RULES },
    atMost: 400,
  },
  shadowChanges: {
    kind: 'counter',
    name: 'countersign_shadow_changes_total',
    unit: 'calls',
    help: 'Calls that shadow rules and limits would have decided differently, by the decision and the shadow decision.',
    labels: { decision: VERDICTS, shadow_decision: VERDICTS },
  },
  reloads: {
    kind: 'counter',
    name: 'countersign_policy_reloads_total',
    unit: 'loads',
    help: 'Loads of the policy bundle.',
    labels: { result: ['ok', 'failed'] },
  },
  lastLoad: {
    kind: 'gauge',
    name: 'countersign_policy_last_success_timestamp_seconds',
    unit: 'seconds since 1970',
    help: 'Time when a bundle was last put in force.',
    labels: {},
  },
  stale: {
    kind: 'gauge',
    name: 'countersign_policy_stale',
    unit: '0 or 1',
    help: '1 while the last load failed and an older bundle, or none, is in force.',
    labels: {},
  },
  policyInfo: {
    kind: 'gauge',
    name: 'countersign_policy_info',
    unit: '1',
    help: 'The bundle in force.',
    labels: { digest: BUNDLE },
    atMost: 2,
  },
  policyRules: {
    kind: 'gauge',
    name: 'countersign_policy_rules',
    unit: 'rules',
    help: 'Rules and limits of the bundle in force.',
    labels: {},
  },
  policyTools: {
    kind: 'gauge',
    name: 'countersign_policy_tools',
    unit: 'tools',
    help: 'Tools with a contract in the bundle in force.',
    labels: {},
  },
} as const satisfies Record<string, MetricSpec>
