import { createHash, createHmac } from 'node:crypto'
import type { JsonObject, JsonValue } from '../contract/json.ts'
import { canonicalJson, sha256 } from '../domain/digest.ts'
import type { Outcome, Snapshot } from '../policy/snapshot.ts'
import type { Deps } from './deps.ts'

/** A value longer than this (as JSON text) stands in evidence as its digest. */
export const READ_VALUE_CHARS = 2_048

export function isSensitive(snapshot: Snapshot | undefined, tool: string): boolean {
  return (snapshot?.tools.get(tool)?.sensitive.length ?? 0) > 0
}

export interface Decided {
  readonly outcome: Outcome
  readonly payload: JsonValue
  /** Revision of the bundle that decided. */
  readonly bundle: string
  /** The contract of the tool calls some field sensitive. */
  readonly sensitive: boolean
}

/**
 * What a decision rested on: verdict, risks, rule ids, bundle, and the values of exactly the fields that the rules read.
 * Sensitive values, and a payload that holds any, stand as salted commitments; who has the secret can open them.
 */
export function decisionDetails(deps: Deps, { outcome, payload, bundle, sensitive }: Decided): JsonObject {
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
      ? { payload_digest: sha256(canonicalJson(payload)) }
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
  return text.length > READ_VALUE_CHARS ? { field, digest: sha256(text) } : { field, value }
}

/** SHA-256 over a salt and the RFC 8785 text; the salt is an HMAC of record and field, so equal values do not look equal. */
function commit(deps: Deps, nonce: string, field: string, value: JsonValue): string {
  const salt = createHmac('sha256', deps.commitmentSecret)
    .update(JSON.stringify([nonce, field]))
    .digest()
  return createHash('sha256').update(salt).update(canonicalJson(value)).digest('hex')
}
