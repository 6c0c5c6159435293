import { LIMITS } from '../../contract/limits.ts'
import type { Thread } from '../../domain/thread.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'

/** How long people can have looked at what they vote on: a vote that came faster than anybody reads was not a review. */

/** Revisions that are remembered as shown; the oldest are forgotten. */
const MOST_SHOWN = 20_000

/** Notes that the caller was shown the thread's current revision, the first time. */
export function noteShown({ shown, store }: Deps, caller: Caller, thread: Thread): void {
  const key = keyOf(caller, thread)
  if (shown.has(key)) return
  const [oldest] = shown.keys()
  if (oldest !== undefined && shown.size >= MOST_SHOWN) shown.delete(oldest)
  shown.set(key, store.now())
}

/** The longest time that the caller can have looked at the current revision until now, ms: since it came, was shown here, or was claimed. */
export function lookedMs({ shown, store }: Deps, caller: Caller, thread: Thread): number {
  const { claim, submitted_at } = thread
  const claimed = claim?.reviewer === caller.id ? claim.expires_at - LIMITS.CLAIM_MS : 0
  const since = Math.max(submitted_at, claimed, shown.get(keyOf(caller, thread)) ?? 0)
  return Math.max(0, store.now() - since)
}

const keyOf = ({ tenant, id }: Caller, { digest }: Thread): string => `${tenant}/${id}/${digest}`
