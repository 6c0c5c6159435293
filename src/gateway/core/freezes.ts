import { GatewayError } from '../../contract/errors.ts'
import { BY_FREEZE } from '../../domain/evidence.ts'
import { freezeOf, freezeSince, isReviewerFrozen, NEVER_FROZEN } from '../../domain/freeze.ts'
import type { Thread } from '../../domain/thread.ts'
import type { Outcome } from '../../policy/language/snapshot.ts'
import type { Guard } from '../../store/store.ts'
import type { Deps } from './deps.ts'
import { closingMessage } from './closing-codes.ts'
import type { KnownFreezes } from './caches.ts'
import { readAgain, unchanged } from './records.ts'

/*
 * Freezes for verbs (docs/operations.md and docs/store.md). A tenant's freezes are one cached record. Every commit that
 * lets an agent act guards that record, so a freeze holds on every instance once it is durable.
 */

export const FREEZES = 'all'

/** The freezes as this instance last read them. The caller guards their record. */
export async function freezesOf(deps: Deps, tenant: string): Promise<KnownFreezes> {
  return deps.freezes.get(tenant) ?? freezesNow(deps, tenant)
}

/**
 * The current freezes, for answers that commit nothing. Every poll reads the freezes, whose record may contain a
 * thousand names with reasons.
 */
export async function freezesNow(deps: Deps, tenant: string): Promise<KnownFreezes> {
  const known = deps.freezes.get(tenant)
  const record = await readAgain(deps.store, tenant, ['freezes', FREEZES], known?.record)
  if (known !== undefined && known.record === record) return known
  const fresh = { freezes: record?.value ?? NEVER_FROZEN, record }
  deps.freezes.set(tenant, fresh)
  return fresh
}

/** Guards that the freezes are unchanged since the read. */
export const freezeGuard = (known: KnownFreezes): Guard => unchanged('freezes', FREEZES, known.record)

/**
 * The outcome of a new call whose agent, tool or tenant is frozen. The gateway does not evaluate policy for such a
 * call.
 */
export function frozenOutcome(
  { freezes }: KnownFreezes,
  call: { readonly agent: string; readonly tool: string },
): Outcome | undefined {
  const freeze = freezes.freezes.length === 0 ? undefined : freezeOf(freezes, call)
  if (freeze === undefined) return undefined
  const message = closingMessage('frozen', freeze.reason)
  return {
    verdict: 'reject',
    risk: 'critical',
    policyRisk: 'critical',
    message,
    by: [BY_FREEZE],
    fired: [],
    reads: [],
  }
}

/** The message of a thread that a freeze cancelled; undefined when no freeze applies to the thread. */
export function frozenMessage({ freezes }: KnownFreezes, thread: Thread): string | undefined {
  const freeze = freezeSince(freezes, thread)
  return freeze && closingMessage('frozen', freeze.reason)
}

/** Refuses a reviewer whom a freeze stops. @throws GatewayError `unauthenticated` */
export function refuseFrozenReviewer({ freezes }: KnownFreezes, reviewer: string): void {
  if (isReviewerFrozen(freezes, reviewer))
    throw new GatewayError(
      'unauthenticated',
      'this reviewer is frozen: an administrator has to lift the freeze',
    )
}

/** Refuses an act on a cancelled thread. @throws GatewayError `not_pending` */
export function refuseFrozen(known: KnownFreezes, thread: Thread): void {
  const message = frozenMessage(known, thread)
  if (message !== undefined) throw new GatewayError('not_pending', `the thread is ${message}`)
}
