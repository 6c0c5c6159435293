import { LIMITS } from '../../contract/limits.ts'
import type { RefusalReason } from '../../domain/token.ts'
import type { ReadEvent } from '../record/read-event.ts'
import { msOf, requireThat } from '../record/require.ts'
import {
  CLOCK_SKEW_MS,
  keyHeld,
  type Ledger,
  type LedgerApproval,
  type LedgerThread,
  requireAgent,
  standingVotes,
  threadOf,
  tokenOf,
} from './ledger.ts'
import { requireQuorum } from './requirement.ts'

/* The laws of approvals and their proofs (docs/agent-api.md). */

interface TokenNamed {
  readonly token_hash: string
}

interface TokenMinted extends TokenNamed {
  readonly expires_at: string
}

export function tokenMinted(ledger: Ledger, record: ReadEvent<TokenMinted>, thread: LedgerThread): void {
  requireSeats(ledger, record, thread)
  const { token_hash: hash } = record.details
  const expires_at = msOf(record.details.expires_at)
  requireThat(expires_at > record.at, 'its token had already expired when it was minted')
  const token = { hash, expires_at, key: keyHeld(ledger, record) }
  thread.approval = { ...approvalOf(thread), token }
}

interface TokenReissued extends TokenMinted {
  readonly replaced: string
}

/** Requires that a new proof replaces the one in force, for the same key and with the same expiry, a few times only. */
export function tokenReissued(ledger: Ledger, record: ReadEvent<TokenReissued>, thread: LedgerThread): void {
  const { token_hash: hash, replaced, expires_at } = record.details
  const token = tokenOf(thread)
  const { reissued = 0 } = token
  requireThat(replaced === token.hash, 'the token that it replaces was not in force')
  requireThat(msOf(expires_at) === token.expires_at, 'the new token expires at another time')
  requireSameKey(ledger, record, thread)
  requireThat(reissued < LIMITS.PROOF_REISSUES, 'its token had been replaced too often')
  thread.approval = { ...approvalOf(thread), token: { ...token, hash, reissued: reissued + 1 } }
}

function approvalOf({ status, approval }: LedgerThread): LedgerApproval {
  requireThat(approval !== undefined, `its thread was ${status} at that time`)
  return approval
}

/** Requires the proof in force, and the key of its minting. */
export function tokenRedeemed(ledger: Ledger, record: ReadEvent<TokenNamed>, thread: LedgerThread): void {
  requireSeats(ledger, record, thread)
  requireThat(record.details.token_hash === tokenOf(thread).hash, 'its token was never minted')
  requireSameKey(ledger, record, thread)
}

function requireSameKey(ledger: Ledger, record: ReadEvent, thread: LedgerThread): void {
  const isSame = keyHeld(ledger, record) === tokenOf(thread).key
  requireThat(isSame, 'the key for which its token was minted had been replaced')
}

/** Requires that no freeze took a seat of the approval. */
export function requireSeats(ledger: Ledger, { at }: ReadEvent, thread: LedgerThread): void {
  const standing = standingVotes(ledger, thread)
  if (standing.length === thread.votes.length) return
  requireQuorum(thread.requirement, standing, at - thread.submitted_at + CLOCK_SKEW_MS)
}

interface TokenRefused extends TokenNamed {
  readonly reason?: RefusalReason | undefined
}

/** Requires that a refusal names the thread only when the proof belongs to the agent. */
export function tokenRefused(ledger: Ledger, record: ReadEvent<TokenRefused>): void {
  const { reason } = record.details
  requireThat(reason !== undefined, 'its `reason` is missing')
  if (record.thread === undefined)
    return requireThat(reason === 'invalid', 'the record names no token of the agent')
  const thread = threadOf(ledger, record)
  const token = tokenOf(thread)
  requireAgent(thread, record)
  requireThat(record.details.token_hash === token.hash, 'its token was never minted')
  const used = thread.approval?.redeemed === true
  requireThat(reason !== 'used' || used, 'its token had not been redeemed')
  const expired = record.at + CLOCK_SKEW_MS >= token.expires_at
  requireThat(reason !== 'expired' || expired, 'its token had not expired')
}
