import { keyHeld } from './laws-access.ts'
import { REFUSAL_REASONS } from '../domain/token.ts'
import { holds, momentOf, textOf, type ToldRecord } from './record.ts'
import {
  currentThread,
  holdsAgent,
  holdsDrawn,
  holdsInTime,
  livingThread,
  move,
  SLACK_MS,
  threadOf,
  type Told,
  type ToldApproval,
  type ToldThread,
  type ToldToken,
} from './told.ts'

/* What approvals and their proofs can leave in evidence (docs/agent-api.md). */

export function tokenMinted(told: Told, record: ToldRecord): void {
  const { thread, approval } = collecting(told, record)
  const expires_at = momentOf(record.details['expires_at'], 'expires_at')
  holds(expires_at > record.at, 'its token had expired at its birth')
  const hash = textOf(record.details['token_hash'], 'token_hash')
  holdsDrawn(told, hash, 'token')
  const key = keyHeld(told, record)
  thread.approval = { ...approval, collected: true, token: { hash, expires_at, key } }
}

export function approvalCollected(told: Told, record: ToldRecord): void {
  const { thread, approval } = collecting(told, record)
  thread.approval = { ...approval, collected: true }
}

/** The first approved read, by the agent, in time. */
function collecting(
  told: Told,
  record: ToldRecord,
): { readonly thread: ToldThread; readonly approval: ToldApproval } {
  const thread = livingThread(told, record)
  const approval = approvalOf(thread)
  holdsAgent(thread, record)
  holdsInTime(thread, record)
  holds(approval.collected === undefined, 'its approval had been collected')
  move(thread, 'collect')
  return { thread, approval }
}

function approvalOf({ status, approval }: ToldThread): ToldApproval {
  holds(status === 'approved' && approval !== undefined, `its thread was ${status} by then`)
  return approval
}

/** Exactly once, in time, by the agent and under the key that it was minted for. */
export function tokenRedeemed(told: Told, record: ToldRecord): void {
  const thread = livingThread(told, record)
  const approval = approvalOf(thread)
  const token = tokenOf(thread)
  holdsAgent(thread, record)
  holds(record.details['token_hash'] === token.hash, 'its token was never minted')
  holds(approval.redeemed === undefined, 'its token had been redeemed')
  holds(record.at < token.expires_at + SLACK_MS, 'its token had expired')
  holds(keyHeld(told, record) === token.key, 'the key that its token was minted for was replaced')
  move(thread, 'redeem')
  thread.approval = { ...approval, redeemed: true }
}

function tokenOf({ approval }: ToldThread): ToldToken {
  const token = approval?.token
  holds(token !== undefined, 'its token was never minted')
  return token
}

/** A refusal names the thread only where the token was the agent's own. */
export function tokenRefused(told: Told, record: ToldRecord): void {
  const { reason } = record.details
  holds(
    REFUSAL_REASONS.some((one) => one === reason),
    `nothing is refused as ${JSON.stringify(reason)}`,
  )
  if (record.thread === undefined)
    return holds(reason === 'invalid', 'no token of the agent is said to be refused')
  const thread = threadOf(told, record)
  const token = tokenOf(thread)
  holdsAgent(thread, record)
  holds(record.details['token_hash'] === token.hash, 'its token was never minted')
  const used = thread.approval?.redeemed === true
  holds(reason !== 'used' || used, 'its token had not been redeemed')
  const expired = record.at + SLACK_MS >= token.expires_at
  holds(reason !== 'expired' || expired, 'its token had not expired')
}

/** Policy or people no longer stand by it. */
export function approvalRevoked(told: Told, record: ToldRecord): void {
  const thread = livingThread(told, record)
  holdsAgent(thread, record)
  holds(approvalOf(thread).redeemed === undefined, 'its approval had been used')
  move(thread, 'revoke')
}

/** What it was charged to limits is taken back, once, when the token has expired unused. */
export function approvalReleased(told: Told, record: ToldRecord): void {
  const thread = currentThread(told, record)
  const approval = approvalOf(thread)
  const token = tokenOf(thread)
  holds(approval.redeemed === undefined, 'its approval had been used')
  holds(approval.released === undefined, 'it had been taken back')
  holds(record.at + SLACK_MS >= token.expires_at, 'its token had not expired')
  thread.approval = { ...approval, released: true }
}
