/** Proofs (docs/agent-api.md): the data that binds a proof, and the conditions for redeeming it. */

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
  /** Hash of the agent key in force at minting. Rotation of the key voids the proof. */
  readonly key_hash: string
  /** ms since 1970, by the store's clock. */
  readonly expires_at: number
  /**
   * Epoch of the store at minting (docs/agent-api.md). In a later epoch, the store may have lost the record that the
   * proof was used.
   */
  readonly epoch: string
  readonly used_at?: number
}

/** The input of validate, with the digest in place of the payload. */
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
 * The reason for refusing a proof, or undefined when the proof may be redeemed now. The order follows
 * docs/agent-api.md (validate): first `invalid` for every mismatch, which leaves the proof unused, then `used`, then
 * `expired`.
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

/** V2 requires the exact thread and hash. V1 accepts no hash, and a given thread id must match. */
function pathMatches(token: ApprovalToken, redemption: Redemption): boolean {
  if (token.action_hash !== undefined) {
    return redemption.thread_id === token.thread_id && redemption.action_hash === token.action_hash
  }
  return redemption.action_hash === undefined && (redemption.thread_id ?? token.thread_id) === token.thread_id
}
