import { createHash, createHmac } from 'node:crypto'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import { canonicalJson } from '../domain/digest.ts'
import type { Outcome, Snapshot } from '../policy/snapshot.ts'
import type { Deps } from './deps.ts'

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
/** A value longer than this (as JSON text) stands in evidence as its digest. */
export const READ_VALUE_CHARS = 2_048

export function encodeEvidence(record: EvidenceRecord): string {
  return canonicalJson({ v: EVIDENCE_VERSION, ...record } as unknown as JsonValue)
}

export const isoTime = (ms: number): string => new Date(ms).toISOString()

/** What was decided on, and under which bundle. */
export interface DecidedOn {
  readonly payload: JsonValue
  readonly bundle: string
  /** The tool's contract names sensitive fields, read by a rule or not. */
  readonly sensitive: boolean
}

/**
 * What a decision rested on: verdict, risks, rule ids, bundle, and the values of exactly the fields that the rules read.
 * Sensitive values, and the payload of a tool that has any, stand as salted commitments; who has the secret can open them.
 */
export function decisionDetails(
  deps: Deps,
  outcome: Outcome,
  { payload, bundle, sensitive }: DecidedOn,
): JsonObject {
  const nonce = sensitive || outcome.reads.some((read) => read.sensitive) ? deps.nextId() : undefined
  return {
    verdict: outcome.verdict,
    risk: outcome.risk,
    policy_risk: outcome.policyRisk,
    by: outcome.by,
    ...rulesOf(outcome),
    policy: bundle,
    reads: outcome.reads.map((read) => readOf(deps, read, nonce)),
    ...(nonce === undefined
      ? { payload_digest: digestText(canonicalJson(payload)) }
      : { nonce, payload_commitment: commit(deps, nonce, 'payload', payload) }),
    ...(outcome.fault === undefined ? {} : { fault: outcome.fault }),
  }
}

function rulesOf(outcome: Outcome): JsonObject {
  const ids = (rules: Outcome['fired']) => rules.map((rule) => rule.id)
  const shadow = ids(outcome.fired.filter((rule) => rule.mode === 'shadow'))
  const unknown = ids(outcome.fired.filter((rule) => rule.unknown))
  return {
    rules: ids(outcome.fired.filter((rule) => rule.mode === 'enforced')),
    ...(shadow.length > 0 ? { shadow } : {}),
    ...(unknown.length > 0 ? { unknown } : {}),
  }
}

function readOf(deps: Deps, read: Outcome['reads'][number], nonce: string | undefined): JsonObject {
  const { field, value } = read
  if (read.state === 'missing' || value === undefined) return { field, missing: true }
  if (read.sensitive && nonce !== undefined) return { field, commitment: commit(deps, nonce, field, value) }
  const text = typeof value === 'string' || typeof value === 'object' ? canonicalJson(value) : ''
  return text.length > READ_VALUE_CHARS ? { field, digest: digestText(text) } : { field, value }
}

export function hasSensitive(snapshot: Snapshot | undefined, tool: string): boolean {
  return (snapshot?.tools.get(tool)?.sensitive.length ?? 0) > 0
}

/** SHA-256 over a salt and the RFC 8785 text; the salt is an HMAC of record and field, so equal values do not look equal. */
function commit(deps: Deps, nonce: string, field: string, value: JsonValue): string {
  const salt = createHmac('sha256', deps.commitmentSecret)
    .update(JSON.stringify([nonce, field]))
    .digest()
  return createHash('sha256').update(salt).update(canonicalJson(value)).digest('hex')
}

function digestText(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
