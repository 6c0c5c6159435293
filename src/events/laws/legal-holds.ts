import {
  legalHoldOver,
  type LegalHoldScope,
  scopeOf,
  withLegalHold,
  withoutLegalHold,
} from '../../domain/legal-hold.ts'
import type { ReadEvent } from '../record/read-event.ts'
import { requireThat } from '../record/require.ts'
import type { Ledger } from './ledger.ts'

/* Legal holds (docs/data.md). */

/** A number far above the legal holds of a tenant (LIMITS.LEGAL_HOLDS). The cost of a check grows with it. */
const MOST_LEGAL_HOLDS = 2_000

interface LegalHoldDetails {
  readonly thread_id?: string | undefined
  readonly task_id?: string | undefined
  readonly agent?: string | undefined
}

/** Enters the legal hold. Its reason is not in the log. */
export function legalHoldStarted(ledger: Ledger, record: ReadEvent<LegalHoldDetails>): void {
  const { actor, at, details } = record
  const by = `${actor.kind}:${actor.id}`
  const hold = { ...scopeIn(details), reason: '', at, by, after: ledger.records }
  const after = withLegalHold(ledger.legalHolds, hold)
  requireThat(after.holds.length <= MOST_LEGAL_HOLDS, 'no tenant has so many legal holds')
  ledger.legalHolds = after
}

export function legalHoldEnded(ledger: Ledger, { details }: ReadEvent<LegalHoldDetails>): void {
  const after = withoutLegalHold(ledger.legalHolds, scopeIn(details))
  requireThat(after !== undefined, 'this scope was under no legal hold')
  ledger.legalHolds = after
}

/** Notes that the thread was in the store when the record was written. Deliveries may outlive their thread. */
export function noteThread(ledger: Ledger, { type, thread }: ReadEvent): void {
  const known = type.startsWith('review.') && thread !== undefined && ledger.threads.get(thread)
  if (known) known.seen_at = ledger.records
}

/** True for a thread that must be in the store, because its legal hold was in force while the thread was there. */
export function mustStay(ledger: Ledger, thread_id: string): boolean {
  const { agent, task, seen_at = 0 } = ledger.threads.get(thread_id) ?? {}
  if (agent === undefined || task === undefined) return false
  const holds = ledger.legalHolds.holds.filter(({ after }) => after < seen_at)
  return legalHoldOver({ holds }, { thread_id, task_id: task, agent }) !== undefined
}

function scopeIn(details: LegalHoldDetails): LegalHoldScope {
  const scope = scopeOf(details)
  const isOne = Object.keys(scope).length < 2
  requireThat(isOne, 'a legal hold names a thread, a task or an agent, but only one of them')
  return scope
}
