import type { EvidenceType } from '../domain/evidence.ts'
import {
  freezeEnded,
  freezeStarted,
  keyExpired,
  keyIssued,
  keyRevoked,
  linkIssued,
  sessionEnded,
  sessionOpened,
} from './laws-access.ts'
import {
  approvalCollected,
  approvalReleased,
  approvalRevoked,
  tokenMinted,
  tokenRedeemed,
  tokenRefused,
} from './laws-approval.ts'
import {
  changesRequested,
  decisionAllowed,
  decisionRejected,
  payloadRevealed,
  reviewAnnounced,
  reviewApproved,
  reviewExpired,
  reviewFrozen,
  reviewPending,
  reviewRejected,
  reviewRevised,
  reviewWithdrawn,
  threadClaimed,
  threadCommented,
  threadReleased,
  voteCast,
} from './laws-review.ts'
import {
  webhookChanged,
  webhookCreated,
  webhookDeleted,
  webhookPinged,
  webhookRedelivered,
  webhookSettled,
} from './laws-webhooks.ts'
import type { ToldRecord } from './record.ts'
import type { Told } from './told.ts'

/** What a record of a type may tell after what was told before. @throws BrokenLaw */
export type Law = (told: Told, record: ToldRecord) => void

/** It stands alone: nothing else says whether it is true. */
const alone: Law = () => undefined

/** For every type of record there is: the law of what it tells. */
export const LAWS: Readonly<Record<EvidenceType, Law>> = {
  'decision.allowed': decisionAllowed,
  'decision.rejected': decisionRejected,
  'review.pending': reviewPending,
  'review.revised': reviewRevised,
  'review.approved': reviewApproved,
  'review.rejected': reviewRejected,
  'review.changes_requested': changesRequested,
  'review.expired': reviewExpired,
  'review.frozen': reviewFrozen,
  'review.withdrawn': reviewWithdrawn,
  'review.reminded': reviewAnnounced,
  'review.escalated': reviewAnnounced,
  'vote.cast': voteCast,
  'approval.collected': approvalCollected,
  'approval.revoked': approvalRevoked,
  'approval.released': approvalReleased,
  'token.minted': tokenMinted,
  'token.redeemed': tokenRedeemed,
  'token.refused': tokenRefused,
  'thread.commented': threadCommented,
  'thread.claimed': threadClaimed,
  'thread.released': threadReleased,
  'payload.revealed': payloadRevealed,
  'webhook.created': webhookCreated,
  'webhook.secret_rotated': webhookChanged,
  'webhook.paused': webhookChanged,
  'webhook.resumed': webhookChanged,
  'webhook.deleted': webhookDeleted,
  'webhook.delivered': webhookSettled,
  'webhook.given_up': webhookSettled,
  'webhook.redelivered': webhookRedelivered,
  'webhook.pinged': webhookPinged,
  'agent.event': alone,
  'freeze.started': freezeStarted,
  'freeze.ended': freezeEnded,
  'key.issued': keyIssued,
  'key.revoked': keyRevoked,
  'key.expired': keyExpired,
  'link.issued': linkIssued,
  'session.opened': sessionOpened,
  'session.ended': sessionEnded,
  'policy.loaded': alone,
  'policy.failed': alone,
  'evidence.read': alone,
}
