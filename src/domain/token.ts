/** Approval tokens (docs/agent-api.md): what a proof is bound to, and when it may be redeemed. */

export interface ApprovalToken {
  readonly tenant: string
  readonly agent: string
  readonly task_id: string
  readonly thread_id: string
  readonly revision: number
  readonly tool: string
  readonly payload_digest: string
  /** Present for V2 threads. */
  readonly action_hash?: string
  /** Hash of the agent key that was in force at minting: rotating the key kills the token. */
  readonly key_hash: string
  /** ms since 1970, by the store's clock. */
  readonly expires_at: number
  /** Of the store when it was minted (docs/agent-api.md): in another epoch it may have been used, and the store forgot it. */
  readonly epoch: string
  readonly used_at?: number
}

/** What the caller of validate brings, its payload already digested. */
export interface Redemption {
  readonly tenant: string
  readonly agent: string
  readonly key_hash: string
  readonly task_id: string
  readonly payload_digest: string
  readonly thread_id?: string
  readonly action_hash?: string
}

export const REFUSAL_REASONS = ['invalid', 'used', 'expired'] as const
export type RefusalReason = (typeof REFUSAL_REASONS)[number]

/**
 * In the order of docs/agent-api.md (validate): every mismatch is `invalid` and consumes nothing, then `used`, then `expired`.
 * Returns undefined when the token may be redeemed now.
 */
export function refusalOf(
  token: ApprovalToken | undefined,
  redemption: Redemption,
  now: number,
): RefusalReason | undefined {
  if (token === undefined || !bindingsMatch(token, redemption)) return 'invalid'
  if (token.used_at !== undefined) return 'used'
  return now >= token.expires_at ? 'expired' : undefined
}

function bindingsMatch(token: ApprovalToken, redemption: Redemption): boolean {
  return (
    token.tenant === redemption.tenant &&
    token.agent === redemption.agent &&
    token.key_hash === redemption.key_hash &&
    token.task_id === redemption.task_id &&
    token.payload_digest === redemption.payload_digest &&
    pathMatches(token, redemption)
  )
}

/** V2 needs thread and hash, exactly; V1 knows no hash, and a thread that is named must be the right one. */
function pathMatches(token: ApprovalToken, redemption: Redemption): boolean {
  if (token.action_hash !== undefined) {
    return redemption.thread_id === token.thread_id && redemption.action_hash === token.action_hash
  }
  return redemption.action_hash === undefined && (redemption.thread_id ?? token.thread_id) === token.thread_id
}
