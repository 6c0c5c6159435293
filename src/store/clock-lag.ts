import type { Clock } from './clock.ts'
import { behindText, type CommitResult, type StoreHealth, StoreUnavailable } from './store.ts'

/**
 * Partitions that have seen a later time than it is: the clock of their server was set back, or another server took over whose clock is behind. Their commits are late
 * until it has caught up, while all else goes on.
 */
export interface Behind {
  /** What became of a commit. */
  committed(partition: string, result: CommitResult): void
  /** Nothing is given out that could not be written down. @throws StoreUnavailable */
  refuse(partition: string, seen: number): never
  /** How far the clock is behind the latest of what they have seen; nothing where that is over everywhere. */
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
