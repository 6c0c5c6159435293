import { type Risk, RISKS } from '../../domain/decision.ts'
import { OUTCOMES } from '../../domain/outcome.ts'
import { REFUSAL_REASONS } from '../../domain/token.ts'
import type { LabelsOf, Meter } from '../../metrics/table.ts'
import { alone, event } from './event.ts'
import { anything, flag, moment, number, object, oneOf, optional, text, texts } from '../record/field.ts'
import { requireSeats, tokenMinted, tokenRedeemed, tokenReissued, tokenRefused } from '../laws/approvals.ts'
import {
  changesRequested,
  payloadRevealed,
  requirementRaised,
  reviewAnnounced,
  reviewApproved,
  reviewRejected,
  reviewResumed,
  reviewWithdrawn,
  threadClaimed,
  threadReleased,
} from '../laws/reviews.ts'
import { callEnded } from '../laws/outcomes.ts'
import { voteCast } from '../laws/votes.ts'

const via = oneOf(['key', 'link', 'oidc', 'slack'], 'the kind of sign-in of the reviewer, or the chat')
const risk = oneOf(RISKS, 'the risk of the thread')
const token_hash = text('SHA-256 of the proof')

/** Details of an end by the votes of reviewers. */
const VOTED = {
  risk,
  digest: text('digest of the revision that the voters saw'),
  voters: texts('reviewers who voted on the revision'),
  waited_ms: number('time since the revision was submitted'),
}

/** Details of an end without votes. */
const ENDED = {
  risk,
  was: oneOf(['pending_review', 'changes_requested', 'approved'], 'the status before the end'),
  waited_ms: number('time since the thread was opened'),
}

const ANNOUNCED = {
  risk,
  due_at: moment('the time when the announcement was due'),
  groups: texts('the groups of the seats'),
}

/** Faults of an approval that was used before. */
const UNCOLLECTED = { collected: 'its approval had been collected' }
const UNREDEEMED = { redeemed: 'its token had been redeemed' }
const UNUSED = { redeemed: 'its approval had been used' }
const OPEN = { redeemed: 'its thread had ended' }

/** Counts an end. A revision that policy rejects never waited for reviewers. */
const countEnd =
  (verdict: LabelsOf<'reviewSeconds'>['verdict']) =>
  (meter: Meter, { details: { risk, waited_ms } }: { readonly details: Ended }): void => {
    if (waited_ms !== undefined) meter.observe('reviewSeconds', { verdict, risk }, waited_ms / 1_000)
  }

interface Ended {
  readonly risk: Risk
  readonly waited_ms?: number | undefined
}

export const REVIEWS = {
  'vote.cast': event({
    says: ({ decision }) => `got a vote: ${decision}`,
    by: ['reviewer'],
    logged: {
      commented: optional(flag('`true`: the vote has a comment')),
      decision: oneOf(['approve', 'reject', 'request_changes'], 'the vote'),
      digest: text('digest of the revision that the reviewer saw'),
      displayed: oneOf(
        ['all', 'some', 'none'],
        'how many of the parts that the level requires were on the screen',
      ),
      groups: optional(texts('groups of the reviewer, from the identity provider')),
      via,
    },
    disclosed: {
      comment: optional(text('the comment of the reviewer')),
      display: optional(
        object('the places that were on the screen and those that were not, their digest, and the time'),
      ),
    },
    law: { also: voteCast },
    count: (meter, { details: { decision, via } }) => meter.count('votes', { decision, via }),
  }),
  'review.approved': event({
    says: 'was approved',
    by: ['reviewer', 'gateway:quorum'],
    logged: VOTED,
    law: { to: 'quorum_met', within: 'deadline', since: 'submitted_at', also: reviewApproved },
    webhook: 'review.approved',
    count: countEnd('approved'),
  }),
  'review.resumed': event({
    says: 'waits again, because an approval lost its seat, for',
    asks: 'reviewers',
    by: ['gateway:freeze', 'gateway:policies'],
    logged: { risk },
    law: { to: 'raise', before: UNCOLLECTED, also: reviewResumed },
    webhook: 'review.pending',
  }),
  'requirement.raised': event({
    says: 'waits again, because policy asks for more than before, for',
    asks: 'reviewers',
    by: ['gateway:policies'],
    logged: {
      policy: text('the bundle revision that asks for more'),
      requirement: object('the join of the requirement so far and of the bundle: seats, escalations, expiry'),
    },
    law: { to: 'raise', before: UNCOLLECTED, also: requirementRaised },
    webhook: 'review.pending',
  }),
  'review.rejected': event({
    says: 'was rejected',
    by: ['reviewer', 'gateway:policy'],
    logged: {
      risk,
      by: optional(texts('ids of the rules that rejected the revision')),
      digest: optional(VOTED.digest),
      voters: optional(VOTED.voters),
      waited_ms: optional(VOTED.waited_ms),
    },
    law: { frozen: 'too', also: reviewRejected },
    webhook: 'review.rejected',
    count: countEnd('rejected'),
  }),
  'review.changes_requested': event({
    says: 'needs changes by its agent',
    by: ['reviewer'],
    logged: VOTED,
    law: { frozen: 'too', to: 'vote_changes', since: 'submitted_at', also: changesRequested },
    webhook: 'review.changes_requested',
    count: countEnd('changes_requested'),
  }),
  'review.expired': event({
    says: 'has expired',
    by: ['gateway:timer'],
    logged: ENDED,
    law: {
      frozen: 'too',
      to: 'expire',
      since: 'opened_at',
      before: { collected: 'its approval had been collected, so only its token can expire' },
      after: 'deadline',
    },
    webhook: 'review.expired',
    count: (meter, record) =>
      countEnd(record.details.was === 'approved' ? 'uncollected' : 'expired')(meter, record),
  }),
  'review.frozen': event({
    says: 'was ended by a freeze',
    by: ['gateway:freeze'],
    logged: ENDED,
    law: { frozen: 'only', to: 'freeze', since: 'opened_at', before: OPEN },
    webhook: 'review.rejected',
    count: countEnd('frozen'),
  }),
  'review.withdrawn': event({
    says: 'was withdrawn by its agent',
    by: ['agent', 'gateway:timer'],
    logged: ENDED,
    disclosed: { reason: optional(text("the agent's reason")) },
    law: { to: 'withdraw', since: 'opened_at', before: OPEN, also: reviewWithdrawn },
    webhook: 'review.withdrawn',
    count: (meter, { details: { was } }) => meter.count('withdrawals', { was }),
  }),
  'review.reminded': event({
    says: 'still waits for',
    asks: 'reviewers',
    by: ['gateway:timer'],
    logged: ANNOUNCED,
    law: { frozen: 'too', from: 'pending_review', also: reviewAnnounced },
    webhook: 'review.reminded',
    count: (meter) => meter.count('announcements', { kind: 'reminder' }),
  }),
  'review.escalated': event({
    says: 'still waits, now for',
    asks: ({ to }) => `${to ?? 'reviewers of another group'} too`,
    by: ['gateway:timer'],
    logged: { ...ANNOUNCED, to: text('the group that may also vote from now on') },
    law: { frozen: 'too', from: 'pending_review', also: reviewAnnounced },
    webhook: 'review.escalated',
    count: (meter) => meter.count('announcements', { kind: 'escalation' }),
  }),
  'approval.collected': event({
    says: 'may run without a proof',
    by: ['agent'],
    logged: { signed: flag('`false`: the agent needs no proof') },
    law: { to: 'collect', within: 'deadline', once: UNCOLLECTED, runs: true, also: requireSeats },
  }),
  'approval.revoked': event({
    says: 'lost its approval',
    by: ['agent'],
    logged: { code: oneOf(['policy_changed', 'reviewer_removed', 'store_changed'], 'why') },
    law: { to: 'revoke', before: UNUSED },
    webhook: 'review.rejected',
    count: (meter, { details: { code } }) => meter.count('revocations', { reason: code }),
  }),
  'approval.released': event({
    says: 'released its charges to limits',
    by: ['gateway:timer'],
    logged: {},
    law: {
      frozen: 'too',
      from: 'approved',
      before: UNUSED,
      once: { released: 'its charges had been taken back already' },
      after: 'proof',
    },
  }),
  'token.minted': event({
    says: 'gave its proof to its agent',
    by: ['agent'],
    logged: { expires_at: moment('the expiry of the proof'), token_hash },
    fresh: ['token_hash', 'token'],
    law: { to: 'collect', within: 'deadline', once: UNCOLLECTED, also: tokenMinted },
    count: (meter) => meter.count('tokensMinted', {}),
  }),
  'token.reissued': event({
    says: 'got a new proof, because its agent lost the one before',
    by: ['agent'],
    logged: {
      expires_at: moment('the expiry of the proof, unchanged'),
      replaced: text('SHA-256 of the proof that is void'),
      token_hash,
    },
    fresh: ['token_hash', 'token'],
    law: { to: 'reissue', within: 'proof', before: UNREDEEMED, also: tokenReissued },
    count: (meter) => meter.count('tokensReissued', {}),
  }),
  'token.redeemed': event({
    says: 'was approved, and its proof was redeemed',
    by: ['agent'],
    logged: { token_hash },
    law: { to: 'redeem', within: 'proof', once: UNREDEEMED, runs: true, also: tokenRedeemed },
    webhook: 'token.redeemed',
  }),
  'token.refused': event({
    says: 'got no permission to run',
    by: ['agent'],
    logged: {
      because: optional(text('the reason that an approved call was invalid')),
      reason: optional(oneOf(REFUSAL_REASONS, 'the answer to the agent')),
      token_hash,
    },
    law: tokenRefused,
  }),
  'thread.commented': event({
    says: 'got a comment',
    by: ['reviewer'],
    logged: { via },
    disclosed: { comment: optional(text('the comment of the reviewer')) },
    law: { frozen: 'too', revision: 'any' },
  }),
  'thread.claimed': event({
    says: 'was claimed',
    by: ['reviewer'],
    logged: { from: optional(text('the reviewer whose claim ended')), via },
    law: { frozen: 'too', from: 'pending_review', also: threadClaimed },
  }),
  'thread.released': event({
    says: 'is no longer claimed',
    by: ['reviewer'],
    logged: { via },
    law: { frozen: 'too', from: 'pending_review', also: threadReleased },
  }),
  'payload.revealed': event({
    says: 'had its sensitive values shown to a reviewer',
    by: ['reviewer'],
    logged: {
      fields: texts('the sensitive fields'),
      revealed_revision: number('the revision'),
      via,
    },
    law: { frozen: 'too', revision: 'any', also: payloadRevealed },
  }),
  'call.ended': event({
    says: ({ outcome }) => `ended, as its agent says: ${outcome}`,
    by: ['agent'],
    logged: {
      duration_ms: optional(number('how long the call ran')),
      of: optional(number('the number of the record that allowed the call')),
      outcome: oneOf(OUTCOMES, 'how the call ended'),
      run: text('which run of equal calls'),
      unmatched: optional(flag('`true`: the gateway has no entry of the call')),
    },
    disclosed: {
      action_hash: optional(text("the caller's action hash")),
      reference: optional(text("the agent's id of what the call did")),
    },
    law: callEnded,
    count: (meter, { details: { outcome, unmatched } }) =>
      meter.count('outcomes', { outcome, matched: unmatched === true ? 'no' : 'yes' }),
  }),
  'agent.event': event({
    of: 'agent',
    says: 'reported about its task',
    by: ['agent'],
    logged: { event_id: text('the id in the answer to the agent') },
    disclosed: {
      event_summary: optional(text("the agent's words")),
      event_type: optional(text("the agent's type")),
      images: optional(anything('images that the agent sent')),
      payload: optional(anything('the payload of the report')),
    },
    law: alone,
  }),
}
