import { LIMITS } from '../../contract/limits.ts'
import type { RefusalReason } from '../../domain/token.ts'
import type { ReadEvent } from '../record/read-event.ts'
import { msOf, requireThat } from '../record/require.ts'
import {
  keyHeld,
  currentThread,
  requireAgent,
  requireFresh,
  requireInTime,
  openThread,
  move,
  CLOCK_SKEW_MS,
  standingVotes,
  threadOf,
  type Ledger,
  type LedgerApproval,
  type LedgerThread,
  type LedgerToken,
} from './ledger.ts'
import { requireQuorum } from './requirement.ts'

/* The laws of approvals and their proofs (docs/agent-api.md). */

interface TokenNamed {
  readonly token_hash: string
}

interface TokenMinted extends TokenNamed {
  readonly expires_at: string
}

export function tokenMinted(ledger: Ledger, record: ReadEvent<TokenMinted>): void {
  const { token_hash: hash } = record.details
  const { thread, approval } = collecting(ledger, record)
  const expires_at = msOf(record.details.expires_at)
  requireThat(expires_at > record.at, 'its token had already expired when it was minted')
  requireFresh(ledger, hash, 'token')
  const key = keyHeld(ledger, record)
  thread.approval = { ...approval, collected: true, token: { hash, expires_at, key } }
}

interface TokenReissued extends TokenMinted {
  readonly replaced: string
}

/** Requires that a new proof replaces the one in force, for the same key and with the same expiry, a few times only. */
export function tokenReissued(ledger: Ledger, record: ReadEvent<TokenReissued>): void {
  const { token_hash: hash, replaced, expires_at } = record.details
  const thread = openThread(ledger, record)
  const approval = approvalOf(thread)
  const token = tokenOf(thread)
  const { reissued = 0 } = token
  requireAgent(thread, record)
  requireThat(replaced === token.hash, 'the token that it replaces was not in force')
  requireThat(approval.redeemed === undefined, 'its token had been redeemed')
  requireThat(record.at < token.expires_at + CLOCK_SKEW_MS, 'its token had expired')
  requireThat(msOf(expires_at) === token.expires_at, 'the new token expires at another time')
  requireThat(
    keyHeld(ledger, record) === token.key,
    'the key for which its token was minted had been replaced',
  )
  requireThat(reissued < LIMITS.PROOF_REISSUES, 'its token had been replaced too often')
  requireFresh(ledger, hash, 'token')
  move(thread, 'reissue')
  thread.approval = { ...approval, token: { ...token, hash, reissued: reissued + 1 } }
}

export function approvalCollected(ledger: Ledger, record: ReadEvent): void {
  const { thread, approval } = collecting(ledger, record)
  thread.approval = { ...approval, collected: true, ran: ledger.records }
}

/** Requires the agent's first read of an approval, in time. */
function collecting(
  ledger: Ledger,
  record: ReadEvent,
): { readonly thread: LedgerThread; readonly approval: LedgerApproval } {
  const thread = openThread(ledger, record)
  const approval = approvalOf(thread)
  requireAgent(thread, record)
  requireInTime(thread, record)
  requireSeats(ledger, thread, record)
  requireThat(approval.collected === undefined, 'its approval had been collected')
  move(thread, 'collect')
  return { thread, approval }
}

function approvalOf({ status, approval }: LedgerThread): LedgerApproval {
  requireThat(status === 'approved' && approval !== undefined, `its thread was ${status} at that time`)
  return approval
}

/** Requires that a proof is redeemed once, in time, by its agent, with the key that was in force at minting. */
export function tokenRedeemed(ledger: Ledger, record: ReadEvent<TokenNamed>): void {
  const thread = openThread(ledger, record)
  const approval = approvalOf(thread)
  const token = tokenOf(thread)
  requireAgent(thread, record)
  requireSeats(ledger, thread, record)
  requireThat(record.details.token_hash === token.hash, 'its token was never minted')
  requireThat(approval.redeemed === undefined, 'its token had been redeemed')
  requireThat(record.at < token.expires_at + CLOCK_SKEW_MS, 'its token had expired')
  requireThat(
    keyHeld(ledger, record) === token.key,
    'the key for which its token was minted had been replaced',
  )
  move(thread, 'redeem')
  thread.approval = { ...approval, redeemed: true, ran: ledger.records }
}

/** Requires that no freeze took a seat of the approval. */
function requireSeats(ledger: Ledger, thread: LedgerThread, { at }: ReadEvent): void {
  const standing = standingVotes(ledger, thread)
  if (standing.length === thread.votes.length) return
  requireQuorum(thread.requirement, standing, at - thread.submitted_at + CLOCK_SKEW_MS)
}

function tokenOf({ approval }: LedgerThread): LedgerToken {
  const token = approval?.token
  requireThat(token !== undefined, 'its token was never minted')
  return token
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

/** Revokes an approval that policy or its voters no longer support. */
export function approvalRevoked(ledger: Ledger, record: ReadEvent): void {
  const thread = openThread(ledger, record)
  requireAgent(thread, record)
  requireThat(approvalOf(thread).redeemed === undefined, 'its approval had been used')
  move(thread, 'revoke')
}

/** Requires that charges are reversed once, after the proof has expired unused. */
export function approvalReleased(ledger: Ledger, record: ReadEvent): void {
  const thread = currentThread(ledger, record)
  const approval = approvalOf(thread)
  const token = tokenOf(thread)
  requireThat(approval.redeemed === undefined, 'its approval had been used')
  requireThat(approval.released === undefined, 'its charges had been taken back already')
  requireThat(record.at + CLOCK_SKEW_MS >= token.expires_at, 'its token had not expired')
  thread.approval = { ...approval, released: true }
}
