import { canEnd, type Thread } from '../../domain/thread.ts'
import { frozenMessage } from '../admin/freezes.ts'
import type { KnownFreezes } from '../core/caches.ts'
import type { Deps } from '../core/deps.ts'
import type { Versioned } from '../core/records.ts'
import type { Plan } from '../core/transact.ts'
import { endOfReview } from './close-thread.ts'

/**
 * The plan that ends a frozen thread. Undefined for a thread that no freeze hit, or that has ended, as by redemption.
 */
export function frozenEnd(
  deps: Deps,
  read: Versioned<Thread>,
  known: KnownFreezes,
): Plan<Thread> | undefined {
  const { value: thread } = read
  const message = frozenMessage(known, thread)
  if (message === undefined || !canEnd(thread)) return undefined
  const at = deps.store.now()
  const actor = { kind: 'gateway', id: 'freeze' } as const
  return endOfReview(read, { trigger: 'freeze', message, at, event: { type: 'review.frozen' }, actor })
}
