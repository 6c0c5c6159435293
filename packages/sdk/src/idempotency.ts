/**
 * The allows that this process has used. An allow has no proof, and the gateway repeats it for some minutes under the
 * same id. Without this record, a model that reuses one id could run many calls while only one is counted.
 */
export interface UsedAllows {
  /** The number of used allows of this action, within the time that the gateway could repeat them. */
  used(hash: string): number
  /** Claims the allow after `before`. Returns false when another call claimed it first. */
  use(hash: string, before: number): boolean
}

/**
 * Retention of an entry, ms, which is longer than the gateway repeats an allow (docs/limits.md, IDEMPOTENT_ALLOW_MS).
 */
const KEPT_MS = 15 * 60_000

/** @param now ms by a monotonic clock */
export function createUsedAllows(now: () => number): UsedAllows {
  const known = new Map<string, { readonly uses: number; readonly at: number }>()
  const forgetOldest = (): void => {
    for (const [hash, { at }] of known) {
      if (now() - at <= KEPT_MS) return
      known.delete(hash)
    }
  }
  const keep = (hash: string, uses: number): void => {
    // moves the entry to the end, so that the oldest entries come first
    known.delete(hash)
    known.set(hash, { uses, at: now() })
  }
  return {
    used: (hash) => {
      forgetOldest()
      const uses = known.get(hash)?.uses ?? 0
      // a repeated call may wait for reviewers, and must find the same thread afterwards
      if (uses > 0) keep(hash, uses)
      return uses
    },
    use: (hash, before) => {
      if ((known.get(hash)?.uses ?? 0) !== before) return false
      keep(hash, before + 1)
      return true
    },
  }
}

/** The allows of handles that this process resumes later. */
export interface FreshAllows {
  keep(hash: string): void
  /** False unless the allow was kept, is young enough and not taken yet. */
  take(hash: string): boolean
}

/** Time in which a kept allow counts, ms, as long as the gateway would repeat it (IDEMPOTENT_ALLOW_MS). */
const FRESH_MS = 10 * 60_000

/** @param now ms by a monotonic clock */
export function createFreshAllows(now: () => number): FreshAllows {
  const kept = new Map<string, number>()
  return {
    keep: (hash) => {
      for (const [old, at] of kept) if (now() - at > FRESH_MS) kept.delete(old)
      kept.set(hash, now())
    },
    take: (hash) => {
      const at = kept.get(hash)
      kept.delete(hash)
      return at !== undefined && now() - at <= FRESH_MS
    },
  }
}
