import { createHash, createHmac } from 'node:crypto'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { canonicalJson, digestOf, sha256 } from '../../domain/digest.ts'
import type { ReviewRequirement, Risk } from '../../domain/decision.ts'
import type { LimitUse, Outcome } from '../../policy/language/snapshot.ts'
import type { Deps } from '../core/deps.ts'
import type { EventDetails } from '../../events/events.ts'

/**
 * Maximum length, in characters of JSON, of a value that evidence contains in full. Longer values are stored as
 * digests.
 */
const READ_VALUE_CHARS = 2_048

export interface Decided {
  readonly outcome: Outcome
  readonly payload: JsonValue
  /** The digest of the payload, when it is known. */
  readonly payloadDigest?: string | undefined
  /** The heading that reviewers of a held call saw. A call that is decided at once has none. */
  readonly line?: string | undefined
  /** SHA-256 (hex) of the template of the call's heading. */
  readonly template: string | undefined
  /** Revision of the bundle that decided. */
  readonly bundle: string
  /** True when the tool's contract marks a field as sensitive. */
  readonly sensitive: boolean
  readonly actionHash: string | undefined
  readonly claimedRisk?: Risk | undefined
  readonly traceparent?: string | undefined
  readonly revisionId?: string | undefined
  /** The conditions under which the call may run. */
  readonly requirement?: ReviewRequirement | undefined
}

/**
 * The basis of a decision: verdict, risks, rule ids, bundle, and the values of exactly the fields that the rules read.
 * Sensitive values, and payloads that contain them, are stored as salted commitments. Only someone with the secret can
 * open the commitments.
 */
export function decisionDetails(deps: Deps, decided: Decided): EventDetails<'decision.allowed'> {
  const { outcome, payload, bundle, sensitive } = decided
  const nonce = sensitive || outcome.reads.some((read) => read.sensitive) ? deps.nextId() : undefined
  const { rules, shadow, unknown } = ruleIds(outcome)
  return {
    action_hash: decided.actionHash,
    by: outcome.by,
    claimed_risk: decided.claimedRisk,
    fault: outcome.fault,
    heading: headingOf(decided),
    limits: outcome.limits && limitsOf(outcome, outcome.limits),
    nonce,
    payload_commitment: nonce === undefined ? undefined : commit(deps, nonce, 'payload', payload),
    payload_digest: nonce === undefined ? (decided.payloadDigest ?? digestOf(payload)) : undefined,
    policy: bundle,
    policy_risk: outcome.policyRisk,
    reads: outcome.reads.map((read) => readOf(deps, read, nonce)),
    requirement: decided.requirement && requirementOf(decided.requirement),
    revision_id: decided.revisionId,
    risk: outcome.risk,
    rules,
    shadow: shadow.length > 0 ? shadow : undefined,
    shadow_outcome: outcome.shadow && { risk: outcome.shadow.risk, verdict: outcome.shadow.verdict },
    traceparent: decided.traceparent,
    unknown: unknown.length > 0 ? unknown : undefined,
    verdict: outcome.verdict,
  }
}

/** The heading that reviewers see, with tags in place of sensitive values, and the digest of its template. */
function headingOf({ line, template }: Decided): JsonObject | undefined {
  if (line === undefined) return template === undefined ? undefined : { template }
  return template === undefined ? { line } : { line, template }
}

/** The parts of a requirement that replay needs, to count approvals and find late ones. */
function requirementOf({ seats, expires_ms, ...flags }: ReviewRequirement): JsonObject {
  const { interactive, require_comment, require_displayed, working_ms } = flags
  return {
    expires_ms,
    ...(interactive === true ? { interactive } : {}),
    ...(require_comment === true ? { require_comment } : {}),
    ...(require_displayed === true ? { require_displayed } : {}),
    seats: seats.map(({ group, approvals, escalate }) => ({
      approvals,
      escalate: escalate.map((one) => ({ after_ms: one.after_ms, group: one.group })),
      group,
    })),
    ...(working_ms === undefined ? {} : { working_ms }),
  }
}

/** Reads the values in one pass without copies, because every decision calls this function. */
function ruleIds({ fired }: Outcome): { rules: string[]; shadow: string[]; unknown: string[] } {
  const rules: string[] = []
  const shadow: string[] = []
  const unknown: string[] = []
  for (const rule of fired) {
    if (rule.mode === 'shadow') shadow.push(rule.id)
    else rules.push(rule.id)
    if (rule.unknown) unknown.push(rule.id)
  }
  return { rules, shadow, unknown }
}

/** The amount that the call adds to each limit, and whether that amount exceeded the limit. */
function limitsOf({ fired }: Outcome, uses: readonly LimitUse[]): JsonObject[] {
  const over = new Set(fired.filter((rule) => !rule.unknown).map((rule) => rule.id))
  return uses.map((use) => limitOf(use, over))
}

function limitOf({ id, amount, sensitive }: LimitUse, over: ReadonlySet<string>): JsonObject {
  return { ...(sensitive ? {} : { amount }), id, ...(over.has(id) ? { over: true } : {}) }
}

function readOf(deps: Deps, read: Outcome['reads'][number], nonce: string | undefined): JsonObject {
  const { field, value } = read
  if (read.state === 'missing' || value === undefined) return { field, missing: true }
  if (read.sensitive && nonce !== undefined) return { field, commitment: commit(deps, nonce, field, value) }
  const text = typeof value === 'string' || typeof value === 'object' ? canonicalJson(value) : ''
  return text.length > READ_VALUE_CHARS ? { field, digest: sha256(text) } : { field, value }
}

/**
 * SHA-256 over a salt and the RFC 8785 text. The salt is an HMAC of record and field, so commitments to equal values
 * differ.
 */
function commit(deps: Deps, nonce: string, field: string, value: JsonValue): string {
  const salt = createHmac('sha256', deps.commitmentSecret)
    .update(JSON.stringify([nonce, field]))
    .digest()
  return createHash('sha256').update(salt).update(canonicalJson(value)).digest('hex')
}
