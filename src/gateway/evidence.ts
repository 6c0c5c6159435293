import type { JsonObject, JsonValue } from '../contract/json.ts'
import { canonicalJson } from '../domain/digest.ts'

/**
 * Evidence (design.md section 8): one record for everything that matters, written in the commit that it describes.
 * The stored text is RFC 8785 JSON; its bytes are what is exported, hashed and, as a Merkle leaf, signed.
 */
export interface EvidenceRecord {
  readonly type: EvidenceType
  readonly tenant: string
  /** RFC 3339, by the store's clock. */
  readonly at: string
  readonly actor: Actor
  readonly task_id?: string
  readonly thread_id?: string
  readonly revision?: number
  readonly tool?: string
  readonly details?: JsonObject
}

export type EvidenceType =
  | 'decision.allowed'
  | 'decision.rejected'
  | 'review.pending'
  | 'review.revised'
  | 'review.approved'
  | 'review.rejected'
  | 'review.changes_requested'
  | 'review.expired'
  | 'review.reminded'
  | 'review.escalated'
  | 'vote.cast'
  | 'approval.collected'
  | 'approval.revoked'
  | 'token.minted'
  | 'token.redeemed'
  | 'token.refused'
  | 'agent.event'
  | 'key.issued'
  | 'key.revoked'
  | 'policy.loaded'
  | 'policy.failed'
  | 'evidence.read'

export interface Actor {
  readonly kind: 'agent' | 'reviewer' | 'admin' | 'gateway'
  readonly id: string
}

const EVIDENCE_VERSION = 1
export function encodeEvidence(record: EvidenceRecord): string {
  return canonicalJson({ v: EVIDENCE_VERSION, ...record } as unknown as JsonValue)
}

export const isoTime = (ms: number): string => new Date(ms).toISOString()
