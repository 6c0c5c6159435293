import { LIMITS } from '../../contract/limits.ts'
import type { Thread } from '../../domain/thread.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'

/**
 * The time that a reviewer can have looked at a revision before the vote. A vote faster than reading is not a review.
 */

/** Maximum number of shown revisions to remember. The oldest entries are dropped. */
const MOST_SHOWN = 20_000

/** Records the time when the caller first saw the thread's current revision. */
export function noteShown({ shown, store }: Deps, caller: Caller, thread: Thread): void {
  const key = keyOf(caller, thread)
  if (shown.has(key)) return
  const [oldest] = shown.keys()
  if (oldest !== undefined && shown.size >= MOST_SHOWN) shown.delete(oldest)
  shown.set(key, store.now())
}

/**
 * The longest time, in ms, that the caller can have seen the current revision. It begins with the submission, the first
 * display by this instance, or the claim.
 */
export function lookedMs({ shown, store }: Deps, caller: Caller, thread: Thread): number {
  const { claim, submitted_at } = thread
  const claimed = claim?.reviewer === caller.id ? claim.expires_at - LIMITS.CLAIM_MS : 0
  const since = Math.max(submitted_at, claimed, shown.get(keyOf(caller, thread)) ?? 0)
  return Math.max(0, store.now() - since)
}

const keyOf = ({ tenant, id }: Caller, { digest }: Thread): string => `${tenant}/${id}/${digest}`
