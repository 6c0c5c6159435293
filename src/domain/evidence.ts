/** What evidence tells of (docs/evidence.md): the gateway writes it, and `evidence verify` replays it. */
export const EVIDENCE_TYPES = [
  'decision.allowed',
  'decision.rejected',
  'review.pending',
  'review.revised',
  'review.approved',
  'review.rejected',
  'review.changes_requested',
  'review.expired',
  'review.frozen',
  'review.withdrawn',
  'review.reminded',
  'review.escalated',
  'vote.cast',
  'approval.collected',
  'approval.revoked',
  'approval.released',
  'token.minted',
  'token.redeemed',
  'token.refused',
  'thread.commented',
  'thread.claimed',
  'thread.released',
  'payload.revealed',
  'webhook.created',
  'webhook.secret_rotated',
  'webhook.paused',
  'webhook.resumed',
  'webhook.deleted',
  'webhook.delivered',
  'webhook.given_up',
  'webhook.redelivered',
  'webhook.pinged',
  'agent.event',
  'freeze.started',
  'freeze.ended',
  'key.issued',
  'key.revoked',
  'key.expired',
  'link.issued',
  'session.opened',
  'session.ended',
  'policy.loaded',
  'policy.failed',
  'evidence.read',
] as const

export type EvidenceType = (typeof EVIDENCE_TYPES)[number]

/** The member `v` of every record. */
export const EVIDENCE_VERSION = 1

/** Who did it. */
export interface Actor {
  readonly kind: 'agent' | 'reviewer' | 'admin' | 'gateway'
  readonly id: string
  /** Of an agent or reviewer with an API key: the first characters of its SHA-256 (`key_hash` of `key.issued`). */
  readonly key?: string
}

/** Characters of `Actor.key`. */
export const KEY_NAME_CHARS = 16

/** Tenant of what belongs to no tenant: administrators act there, and reviewers of any tenant who have the role. */
export const SYSTEM = '_system'

/** Bundle revision in records of what no policy decided: none is in force, or the call was frozen. Nothing but a rejection. */
export const NO_BUNDLE = 'none'

/** What stands among the deciding rules of a call that a freeze rejected. */
export const BY_FREEZE = 'frozen'
