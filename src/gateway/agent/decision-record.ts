import type { JsonObject, JsonValue } from '../../contract/json.ts'
import { canonicalJson, digestOf } from '../../domain/digest.ts'
import { requirementDetails } from '../thread/requirement-details.ts'
import type { ReviewRequirement, Risk } from '../../domain/decision.ts'
import { isLowered } from '../../policy/language/disclose.ts'
import type { FieldRead, LimitUse, Outcome, ToolContract } from '../../policy/language/snapshot.ts'
import type { EventDetails, EventDisclosed } from '../../events/events.ts'

/** Maximum length, in characters of JSON, of a value that is kept in full. Longer values are kept as digests. */
const READ_VALUE_CHARS = 2_048

/** The values of a call that evidence must not keep. */
export interface Kept {
  /** True when the tool's contract marks a field as sensitive. */
  readonly sensitive: boolean
  /** True when the contract keeps other values out of evidence. The heading and amounts may have them. */
  readonly lowered: boolean
}

export function keptBy(contract: ToolContract | undefined): Kept {
  if (contract === undefined) return { sensitive: false, lowered: false }
  return { sensitive: contract.sensitive.length > 0, lowered: isLowered(contract) }
}

export interface Decided extends Kept {
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
  readonly actionHash: string | undefined
  readonly claimedRisk?: Risk | undefined
  readonly traceparent?: string | undefined
  readonly revisionId?: string | undefined
  /** The salt of the digest on which reviewers vote. */
  readonly nonce?: string | undefined
  /** The conditions under which the call may run. */
  readonly requirement?: ReviewRequirement | undefined
  /** Until when policy expects the outcome of an allowed call, RFC 3339. */
  readonly outcomeBy?: string | undefined
}

/** The basis of a decision, without the values of the call. */
interface Basis {
  readonly details: EventDetails<'decision.allowed'>
  readonly disclosed: EventDisclosed<'decision.allowed'>
}

/**
 * The basis of a decision. The log has verdict, risks, rule ids and bundle. Beside the log are the values of exactly
 * the fields that the rules read. Only the names of sensitive values, and of payloads that contain them, are kept.
 */
export function basisOfDecision(decided: Decided): Basis {
  const { outcome, bundle } = decided
  const { rules, shadow, unknown } = ruleIds(outcome)
  const { missing, masked, values } = valuesIn(decided)
  return {
    details: {
      by: outcome.by,
      claimed_risk: decided.claimedRisk,
      commitment: undefined,
      fault: outcome.fault,
      hashed: decided.actionHash === undefined ? undefined : true,
      limits: outcome.limits && limitsOf(outcome, outcome.limits),
      masked,
      missing,
      outcome_by: decided.outcomeBy,
      policy: bundle,
      policy_risk: outcome.policyRisk,
      requirement: decided.requirement && requirementDetails(decided.requirement),
      risk: outcome.risk,
      rules,
      shadow: shadow.length > 0 ? shadow : undefined,
      shadow_outcome: outcome.shadow && { risk: outcome.shadow.risk, verdict: outcome.shadow.verdict },
      template: decided.template,
      traceparent: decided.traceparent,
      unknown: unknown.length > 0 ? unknown : undefined,
      verdict: outcome.verdict,
    },
    disclosed: values,
  }
}

type Disclosed = EventDisclosed<'decision.allowed'>

interface Values {
  readonly values: Disclosed
  readonly missing: readonly string[] | undefined
  readonly masked: readonly string[] | undefined
}

function valuesIn(decided: Decided): Values {
  const { outcome, payload, payloadDigest, line, revisionId, actionHash, nonce, sensitive, lowered } = decided
  const first = { line: lowered ? undefined : line, revision_id: revisionId }
  const read: Read = { values: first, missing: [], masked: [] }
  for (const one of outcome.reads) if (one.disclose !== 'none') keep(read, one)
  const { values, missing, masked } = read
  // a hash would let its reader test guesses of a value that is not kept, as would the salt of the digest of votes
  if (sensitive || lowered || masked.length > 0)
    masked.push('payload', ...(actionHash === undefined ? [] : ['action_hash']))
  else {
    values.payload_digest = payloadDigest ?? digestOf(payload)
    values.action_hash = actionHash
    values.nonce = nonce
  }
  if (!lowered) keepAmounts(read, outcome.limits)
  return { values, missing: unlessEmpty(missing), masked: unlessEmpty(masked) }
}

interface Read {
  readonly values: { -readonly [K in keyof Disclosed]: Disclosed[K] }
  readonly missing: string[]
  readonly masked: string[]
}

function keep({ values, missing, masked }: Read, { field, state, value, disclose }: FieldRead): void {
  if (state === 'missing' || value === undefined) missing.push(field)
  else if (disclose === 'masked') masked.push(field)
  else if (isLong(value)) values[`digests.${field}`] = digestOf(value)
  else values[`reads.${field}`] = value
}

const unlessEmpty = (names: readonly string[]): readonly string[] | undefined =>
  names.length > 0 ? names : undefined

/** Maximum length of text that is short in JSON too, even if each character is escaped as `\u0000`. */
const SHORT_CHARS = 340

const isLong = (value: JsonValue): boolean =>
  (typeof value === 'object' || (typeof value === 'string' && value.length > SHORT_CHARS)) &&
  canonicalJson(value).length > READ_VALUE_CHARS

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

/** The limits that the call uses, and whether its amount exceeded them. */
function limitsOf({ fired }: Outcome, uses: readonly LimitUse[]): JsonObject[] {
  const over = new Set(fired.filter((rule) => !rule.unknown).map((rule) => rule.id))
  return uses.map(({ id }) => (over.has(id) ? { id, over: true } : { id }))
}

/** Keeps the amount that the call adds to each limit. */
function keepAmounts({ values }: Read, uses: readonly LimitUse[] = []): void {
  for (const { id, amount, sensitive } of uses) if (!sensitive) values[`amounts.${id}`] = amount
}
