import { type Risk, RISKS, type Verdict, VERDICTS } from '../../domain/decision.ts'
import { OTHER, REJECTION_REASONS } from '../../metrics/labels.ts'
import type { Meter } from '../../metrics/table.ts'
import { type Counted, event } from './event.ts'
import {
  type DetailsOf,
  each,
  flag,
  moment,
  object,
  objects,
  oneOf,
  optional,
  text,
  texts,
} from '../record/field.ts'
import {
  decisionAllowed,
  decisionApproved,
  decisionRejected,
  reviewPending,
  reviewRevised,
} from '../laws/reviews.ts'

/** The basis of a decision. */
const DECIDED = {
  by: texts('ids of the rules that decided, or a code in their place'),
  claimed_risk: optional(oneOf(RISKS, 'the risk claimed by the agent')),
  fault: optional(text('the failure of the rules engine')),
  hashed: optional(flag('`true`: the call has an action hash')),
  limits: optional(objects('the limits that the call uses; `over` means that the limit had no room')),
  masked: optional(texts('the fields whose values are not kept, because they are sensitive')),
  missing: optional(texts('the fields that rules read, and that the call lacks')),
  outcome_by: optional(moment('the time until which policy expects the outcome of an allowed call')),
  policy: text('bundle revision; `none` for a call that no policy judged'),
  policy_risk: oneOf(RISKS, 'the risk that policy assessed'),
  requirement: optional(object('the quorum: seats, escalations, expiry')),
  risk: oneOf(RISKS, 'the risk in force'),
  rules: texts('ids of the rules that fired'),
  shadow: optional(texts('ids of the shadow rules that fired')),
  shadow_outcome: optional(
    object<{ readonly risk: Risk; readonly verdict: Verdict }>(
      'verdict and risk with the shadow rules in force',
    ),
  ),
  template: optional(text("SHA-256 of the heading's template")),
  traceparent: optional(text('the trace of the call')),
  unknown: optional(texts('ids of the rules that fired because a field could not be checked')),
  verdict: oneOf(VERDICTS, 'the verdict'),
}

/** The values on which a decision was based. */
const VALUES = {
  action_hash: optional(text("the caller's action hash")),
  amounts: each('what the call adds to each limit, by its id'),
  digests: each('SHA-256 of long values, by their field'),
  line: optional(text('the heading of a held call, with tags in place of sensitive values')),
  nonce: optional(text('the salt of the digest on which reviewers vote')),
  payload_digest: optional(text('SHA-256 of the payload')),
  reads: each('the values of the fields that rules read'),
  revision_id: optional(text("the agent's id of the revision")),
}

const JUDGED = { logged: DECIDED, disclosed: VALUES }

export const DECISIONS = {
  'decision.allowed': event({
    says: 'was allowed by policy',
    by: ['agent'],
    ...JUDGED,
    law: decisionAllowed,
    webhook: 'decision.allowed',
    count: countDecision,
  }),
  'decision.approved': event({
    says: 'was allowed by policy, and needs a proof to run',
    by: ['agent'],
    ...JUDGED,
    law: decisionApproved,
    webhook: 'decision.allowed',
    count: countDecision,
  }),
  'decision.rejected': event({
    says: 'was rejected by policy',
    by: ['agent'],
    ...JUDGED,
    law: decisionRejected,
    webhook: 'decision.rejected',
    count(meter, record) {
      countDecision(meter, record)
      meter.count('rejections', { reason: reasonOf(record.details.by) })
    },
  }),
  'review.pending': event({
    says: 'waits for',
    asks: 'reviewers',
    by: ['agent'],
    ...JUDGED,
    law: reviewPending,
    webhook: 'review.pending',
    count: countDecision,
  }),
  'review.revised': event({
    says: 'was revised by its agent',
    by: ['agent'],
    ...JUDGED,
    law: { revision: 'next', within: 'deadline', also: reviewRevised },
    webhook: ({ verdict }) => (verdict === 'reject' ? undefined : 'review.pending'),
    count: (meter, { details }) => countRules(meter, details),
  }),
}

type Decision = Counted<DetailsOf<typeof DECIDED>>

function countDecision(meter: Meter, { details, tool = OTHER }: Decision): void {
  const { risk, verdict: decision } = details
  meter.count('evaluations', { decision, risk, tool })
  countRules(meter, details)
}

function countRules(meter: Meter, details: Decision['details']): void {
  const { verdict, rules, shadow = [], shadow_outcome, unknown = [] } = details
  if (shadow_outcome !== undefined && shadow_outcome.verdict !== verdict)
    meter.count('shadowChanges', { decision: verdict, shadow_decision: shadow_outcome.verdict })
  for (const rule of rules) meter.count('ruleMatches', { rule, mode: 'enforced' })
  for (const rule of shadow) meter.count('ruleMatches', { rule, mode: 'shadow' })
  for (const rule of unknown) meter.count('ruleUnknown', { rule })
}

/** The code of a rejection without rules, or a common code for all rules. */
function reasonOf(by: readonly string[]): (typeof REJECTION_REASONS)[number] {
  return REJECTION_REASONS.find((reason) => reason !== 'rule' && by.includes(reason)) ?? 'rule'
}
