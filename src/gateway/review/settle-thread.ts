import type { Thread } from '../../domain/thread.ts'
import type { Deps } from '../core/deps.ts'
import { expiry } from './expire.ts'
import type { KnownFreezes } from '../core/caches.ts'
import { frozenEnd } from './end-frozen.ts'
import type { Versioned } from '../core/records.ts'
import { completion } from './approval-effects.ts'
import type { Plan } from '../core/transact.ts'

/**
 * The plan for a change of a thread without an act: it expired, a freeze ended it, or its seats are filled. The first
 * to notice commits it: the timer, a poll or a reviewer's request.
 */
export async function settleThread(
  deps: Deps,
  read: Versioned<Thread>,
  freezes: KnownFreezes,
): Promise<Plan<Thread> | undefined> {
  return expiry(deps, read) ?? frozenEnd(deps, read, freezes) ?? (await completion(deps, read, freezes))
}
