import type { Clock } from './clock.ts'
import { behindText, type CommitResult, type StoreHealth, StoreUnavailable } from './store.ts'

/**
 * Partitions that have seen a later time than the store's clock shows. Their server's clock was set back, or a server
 * with a slower clock took over. Their commits are late until the clock catches up; all other partitions work.
 */
export interface Behind {
  /** Records the result of a commit. */
  committed(partition: string, result: CommitResult): void
  /** Refuses to lease entries whose completion could not be written. @throws StoreUnavailable */
  refuse(partition: string, seen: number): never
  /** How far the clock is behind the latest time of these partitions; empty when no partition is ahead. */
  health(): Pick<StoreHealth, 'behindMs'>
}

export function createBehind(clock: Clock): Behind {
  const seenBy = new Map<string, number>()
  return {
    committed(partition, result) {
      if (result.ok) seenBy.delete(partition)
      else if (result.reason === 'late' && result.behindMs !== undefined)
        seenBy.set(partition, clock.now() + result.behindMs)
    },
    refuse(partition, seen) {
      seenBy.set(partition, seen)
      throw new StoreUnavailable(behindText(partition, seen - clock.now()))
    },
    health() {
      const now = clock.now()
      for (const [partition, seen] of seenBy) if (seen <= now) seenBy.delete(partition)
      return seenBy.size === 0 ? {} : { behindMs: Math.max(...seenBy.values()) - now }
    },
  }
}
