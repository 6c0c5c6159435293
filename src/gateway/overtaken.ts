import type { Thread } from '../domain/thread.ts'
import type { Deps } from './deps.ts'
import { expiry } from './expire.ts'
import type { KnownFreezes } from './known.ts'
import { frozenEnd } from './freezes.ts'
import type { Versioned } from './records.ts'
import { completion } from './tally.ts'
import type { Plan } from './transact.ts'

/**
 * The plan for what has become of a thread without anybody's act: its time is up, a freeze has ended it, or its seats are filled. Whoever looks first
 * makes it true: the timer, a poll or a reviewer.
 */
export async function overtaken(
  deps: Deps,
  read: Versioned<Thread>,
  freezes: KnownFreezes,
): Promise<Plan<Thread> | undefined> {
  return expiry(deps, read) ?? frozenEnd(deps, read, freezes) ?? (await completion(deps, read, freezes))
}
