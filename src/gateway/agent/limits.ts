import { isUsed, type LimitCharge, type Thread } from '../../domain/thread.ts'
import type { LimitUse, Outcome } from '../../policy/evaluate/snapshot.ts'
import { type Guard, type LimitGuard, STORE_LIMITS, type Write } from '../../store/store.ts'
import { neverPurge, purgeAt } from '../core/expiry-index.ts'

/*
 * Limits (docs/policy-language.md). Policy says what a call uses of which limit; whether there is room is found out by the commit of
 * the decision itself, which guards every limit and charges it if it allows. A guard that fails says which limits have no room, and the
 * call is decided again with them fired. So nothing is read before, nobody conflicts below the limit, and nobody gets above it.
 */

/** Whatever the window of a limit is, nothing is left in it then. */
const FORGET_MS = 2 * STORE_LIMITS.windowMs

/** The limits that a decision still takes for free. */
export function limitGuards({ limits = [] }: Outcome, exceeded: ReadonlySet<string>): LimitGuard[] {
  return limits
    .filter(({ limit }) => !exceeded.has(limit))
    .map(({ limit, windowMs, amount, atMost }) => ({ limit, windowMs, amount, atMost }))
}

/** The limits found without room: those of earlier attempts, and those whose guard has failed now. */
export function exceededBy(before: ReadonlySet<string>, failed: readonly Guard[]): ReadonlySet<string> {
  const now = failed.flatMap((guard) => ('limit' in guard ? guard.limit : []))
  return now.length === 0 ? before : new Set([...before, ...now])
}

export function chargesOf({ limits = [] }: Outcome): LimitCharge[] {
  return limits.map(({ limit, windowMs, amount }: LimitUse) => ({ limit, window_ms: windowMs, amount }))
}

/** Charges every limit, whatever room there is: it was allowed, or people decided. */
export function charge(charges: readonly LimitCharge[], at: number): Write[] {
  return charges.flatMap(({ limit, window_ms: windowMs, amount }): Write[] => [
    { op: 'charge', limit, windowMs, at, amount },
    purgeAt('limit', limit, at + FORGET_MS),
  ])
}

/** Takes back what an approval was charged that ends without having been used. */
export function release(thread: Thread): Write[] {
  const { approval, charges = [] } = thread
  if (approval === undefined || isUsed(approval)) return []
  return charges.map(({ limit, window_ms: windowMs, amount }): Write => ({
    op: 'charge',
    limit,
    windowMs,
    at: approval.at,
    amount: -amount,
  }))
}

/** The thread once its charges are taken back: that happens once. */
export function withoutCharges(thread: Thread): Thread {
  const { charges: _, ...rest } = thread
  return rest
}

/** What the timer does with a counter to which nothing was charged for long. */
export function forgetWindow(limit: string, now: number): Write[] {
  return [
    // A charge of nothing drops what has left the longest window that there can be, and with it the counter.
    { op: 'charge', limit, windowMs: STORE_LIMITS.windowMs, at: now, amount: 0 },
    neverPurge('limit', limit),
  ]
}
