import { isUsed, type LimitCharge, type Thread } from '../../domain/thread.ts'
import type { LimitUse, Outcome } from '../../policy/language/snapshot.ts'
import { type Guard, type LimitGuard, STORE_LIMITS, type Write } from '../../store/store.ts'
import { neverPurge, purgeAt } from '../core/expiry-index.ts'

/*
 * Limits (docs/policy-language.md). Policy determines how much of each limit a call uses. The commit of the decision
 * guards every limit, and charges the limits when it allows the call. A failed guard identifies an exhausted limit. The
 * gateway then decides the call again and treats that limit as fired. The check needs no read, calls below a limit
 * never conflict, and no call exceeds a limit.
 */

/** The time after which a limit's counter is empty, whatever its window. */
const FORGET_MS = 2 * STORE_LIMITS.windowMs

/** Guards of the limits that still have room. */
export function limitGuards({ limits = [] }: Outcome, exceeded: ReadonlySet<string>): LimitGuard[] {
  return limits
    .filter(({ limit }) => !exceeded.has(limit))
    .map(({ limit, windowMs, amount, atMost }) => ({ limit, windowMs, amount, atMost }))
}

/** The exhausted limits: those of earlier attempts, and those whose guard has failed now. */
export function exceededBy(before: ReadonlySet<string>, failed: readonly Guard[]): ReadonlySet<string> {
  const now = failed.flatMap((guard) => ('limit' in guard ? guard.limit : []))
  return now.length === 0 ? before : new Set([...before, ...now])
}

export function chargesOf({ limits = [] }: Outcome): LimitCharge[] {
  return limits.map(({ limit, windowMs, amount }: LimitUse) => ({ limit, window_ms: windowMs, amount }))
}

/** Charges every limit, even an exhausted one, because the call was allowed or reviewers decided it. */
export function charge(charges: readonly LimitCharge[], at: number): Write[] {
  return charges.flatMap(({ limit, window_ms: windowMs, amount }): Write[] => [
    { op: 'charge', limit, windowMs, at, amount },
    purgeAt('limit', limit, at + FORGET_MS),
  ])
}

/** Reverses the charges of an approval that ends unused. */
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

/** The thread after its charges were reversed, which happens once. */
export function withoutCharges(thread: Thread): Thread {
  const { charges: _, ...rest } = thread
  return rest
}

/** Deletes the counter of a limit without recent charges; the timer calls it. */
export function forgetWindow(limit: string, now: number): Write[] {
  return [
    // A charge of 0 drops charges older than the longest possible window, and with them the counter.
    { op: 'charge', limit, windowMs: STORE_LIMITS.windowMs, at: now, amount: 0 },
    neverPurge('limit', limit),
  ]
}
