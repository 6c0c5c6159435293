import { GatewayError } from '../../contract/errors.ts'
import { BY_FREEZE } from '../../domain/evidence.ts'
import { freezeOf, freezeSince, NEVER_FROZEN } from '../../domain/freeze.ts'
import type { Thread } from '../../domain/thread.ts'
import type { Outcome } from '../../policy/evaluate/snapshot.ts'
import type { Guard } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { closingMessage } from '../core/closing-codes.ts'
import type { KnownFreezes } from '../core/caches.ts'
import { readAgain, unchanged } from '../core/records.ts'

/*
 * Freezing, as verbs use it (docs/operations.md and docs/store.md): the tenant's freezes are one record, kept in memory. Whatever lets an agent act guards that
 * record in its commit, so a freeze holds on every instance from the moment it is durable.
 */

export const FREEZES = 'all'

/** As this instance last read them: for what guards them. No promise where they are known. */
export function freezesOf(deps: Deps, tenant: string): KnownFreezes | Promise<KnownFreezes> {
  return deps.freezes.get(tenant) ?? freezesNow(deps, tenant)
}

/** Read afresh: for answers that commit nothing. Every poll does, and the record may hold a thousand names with their reasons. */
export async function freezesNow(deps: Deps, tenant: string): Promise<KnownFreezes> {
  const known = deps.freezes.get(tenant)
  const record = await readAgain(deps.store, tenant, ['freezes', FREEZES], known?.record)
  if (known !== undefined && known.record === record) return known
  const fresh = { freezes: record?.value ?? NEVER_FROZEN, record }
  deps.freezes.set(tenant, fresh)
  return fresh
}

/** Nothing was frozen or freed meanwhile: with it, what is old may be used. */
export const freezeGuard = (known: KnownFreezes): Guard => unchanged('freezes', FREEZES, known.record)

/** What a new call is told while its agent, its tool or its tenant is frozen. Policy is not asked. */
export function frozenOutcome(
  { freezes }: KnownFreezes,
  call: { readonly agent: string; readonly tool: string },
): Outcome | undefined {
  const freeze = freezeOf(freezes, call)
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

/** Why the thread is dead, as its message will say; undefined when no freeze hit it. */
export function frozenMessage({ freezes }: KnownFreezes, thread: Thread): string | undefined {
  const freeze = freezeSince(freezes, thread)
  return freeze && closingMessage('frozen', freeze.reason)
}

/** @throws GatewayError `not_pending`: nobody works on what is dead */
export function refuseFrozen(known: KnownFreezes, thread: Thread): void {
  const message = frozenMessage(known, thread)
  if (message !== undefined) throw new GatewayError('not_pending', `the thread is ${message}`)
}
