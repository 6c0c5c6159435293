import { FREEZE_KINDS } from '../domain/freeze.ts'
import { OUTCOMES } from '../domain/outcome.ts'
import { LEGAL_HOLD_KINDS } from '../domain/legal-hold.ts'
import { GROUPS, REVIEW_ENDS, REVOCATIONS, RISKS, SIGN_IN_RESULTS, TOOLS, WITHDRAWN_FROM } from './labels.ts'
import type { MetricSpec } from './metric-spec.ts'

/** Buckets from five seconds to seven days. */
const HUMAN = [5, 30, 60, 300, 900, 1_800, 3_600, 14_400, 28_800, 86_400, 259_200, 604_800]
/** Buckets of seconds. In less than 2.5 s, a reviewer cannot have read the call. */
const ATTENTION = [1, 2.5, 5, 10, 30, 60, 300, 900, 3_600]

export const REVIEW_METRICS = {
  pending: {
    kind: 'gauge',
    name: 'countersign_threads_pending',
    unit: 'threads',
    help: 'Threads that wait for reviewers, by assessed risk. The same on every instance.',
    labels: { risk: RISKS },
  },
  oldestPending: {
    kind: 'gauge',
    name: 'countersign_thread_oldest_pending_seconds',
    unit: 'seconds',
    help: 'Age of the oldest waiting thread, by assessed risk; 0 if no thread waits. The same on every instance.',
    labels: { risk: RISKS },
  },
  outcomes: {
    kind: 'counter',
    name: 'countersign_call_outcomes_total',
    unit: 'calls',
    help: 'Outcomes that agents reported; matched: the gateway has an entry of the call.',
    labels: { outcome: OUTCOMES, matched: ['yes', 'no'] },
  },
  unreported: {
    kind: 'gauge',
    name: 'countersign_calls_unreported',
    unit: 'calls',
    help: 'Allowed calls whose expected outcome is late. The same on every instance.',
    labels: {},
  },
  frozen: {
    kind: 'gauge',
    name: 'countersign_freezes_in_force',
    unit: 'freezes',
    help: 'Agents, tools, reviewers and whole tenants that are frozen. The same on every instance.',
    labels: { scope: FREEZE_KINDS },
  },
  legalHolds: {
    kind: 'gauge',
    name: 'countersign_legal_holds_in_force',
    unit: 'legal holds',
    help: 'Threads, tasks, agents and whole tenants under a legal hold. The same on every instance.',
    labels: { scope: LEGAL_HOLD_KINDS },
  },
  groupWaiting: {
    kind: 'gauge',
    name: 'countersign_group_threads_waiting',
    unit: 'threads',
    help: 'Threads with an empty seat for this group, among the 200 that wait longest. The same on every instance.',
    labels: { group: GROUPS },
    atMost: 101,
  },
  groupReviewers: {
    kind: 'gauge',
    name: 'countersign_group_reviewers',
    unit: 'people',
    help: 'Reviewers in this group, according to the directory. The same on every instance.',
    labels: { group: GROUPS },
    atMost: 101,
  },
  reviewSeconds: {
    kind: 'histogram',
    name: 'countersign_review_duration_seconds',
    unit: 'seconds',
    help: 'Time from the submission of a revision to its decision, or from the creation of a thread to its expiry.',
    labels: { verdict: REVIEW_ENDS, risk: RISKS },
    buckets: HUMAN,
    exemplar: 'thread_id',
  },
  votes: {
    kind: 'counter',
    name: 'countersign_votes_total',
    unit: 'votes',
    help: 'Votes of reviewers, by their kind of sign-in.',
    labels: { decision: ['approve', 'reject', 'request_changes'], via: ['key', 'link', 'oidc', 'slack'] },
  },
  attention: {
    kind: 'histogram',
    name: 'countersign_vote_attention_seconds',
    unit: 'seconds',
    help: "Upper bound of a reviewer's reading time before the vote. It starts at the latest of three events: arrival of the revision, first display by this instance, claim.",
    labels: { decision: ['approve', 'reject', 'request_changes'] },
    buckets: ATTENTION,
    exemplar: 'thread_id',
  },
  announcements: {
    kind: 'counter',
    name: 'countersign_review_announcements_total',
    unit: 'announcements',
    help: 'Reminders and escalations of undecided threads.',
    labels: { kind: ['reminder', 'escalation'] },
  },
  revisions: {
    kind: 'counter',
    name: 'countersign_revisions_total',
    unit: 'revisions',
    help: 'Revisions submitted by agents.',
    labels: { result: ['accepted', 'rejected'] },
  },
  revocations: {
    kind: 'counter',
    name: 'countersign_approvals_revoked_total',
    unit: 'approvals',
    help: 'Approvals that were no longer valid when the agent polled, by reason.',
    labels: { reason: REVOCATIONS },
  },
  withdrawals: {
    kind: 'counter',
    name: 'countersign_withdrawals_total',
    unit: 'calls',
    help: 'Calls that their agents withdrew, by their previous status.',
    labels: { was: WITHDRAWN_FROM },
  },
  filesUnbound: {
    kind: 'counter',
    name: 'countersign_files_unbound_total',
    unit: 'calls',
    help: 'Held calls with a command whose contract has no `files`: the files that the command names are not bound.',
    labels: { tool: TOOLS },
    atMost: 21,
  },
  tokensMinted: {
    kind: 'counter',
    name: 'countersign_tokens_minted_total',
    unit: 'tokens',
    help: 'Proofs handed out.',
    labels: {},
  },
  tokensReissued: {
    kind: 'counter',
    name: 'countersign_tokens_reissued_total',
    unit: 'tokens',
    help: 'Proofs that replaced a lost one.',
    labels: {},
  },
  tokenValidations: {
    kind: 'counter',
    name: 'countersign_token_validations_total',
    unit: 'validations',
    help: 'Redemptions and refusals of proofs.',
    labels: { result: ['valid', 'invalid', 'expired', 'used'] },
  },
  signIns: {
    kind: 'counter',
    name: 'countersign_sign_ins_total',
    unit: 'sign-ins',
    help: 'Attempts to sign in to the console, by result.',
    labels: { via: ['link', 'oidc'], result: SIGN_IN_RESULTS },
  },
} as const satisfies Record<string, MetricSpec>
