/**
 * Which allows were used. An allow has no proof that is spent, and the gateway repeats it for some minutes under the same id: who names each of its calls alike would run
 * many and have one counted. Some models do, and one that is told to may.
 */
export interface Allows {
  /** How many allows of this action were used, as far as the gateway could repeat them. */
  used(hash: string): number
  /** Takes the one after `before`; false when somebody has taken it in the meantime. */
  use(hash: string, before: number): boolean
}

/** Longer than the gateway repeats an allow (docs/limits.md, IDEMPOTENT_ALLOW_MS). */
const KEPT_MS = 15 * 60_000

/** @param now ms of a clock that nobody sets */
export function createAllows(now: () => number): Allows {
  const known = new Map<string, { readonly uses: number; readonly at: number }>()
  const forgetOldest = (): void => {
    for (const [hash, { at }] of known) {
      if (now() - at <= KEPT_MS) return
      known.delete(hash)
    }
  }
  const keep = (hash: string, uses: number): void => {
    // at the end, so that the oldest come first
    known.delete(hash)
    known.set(hash, { uses, at: now() })
  }
  return {
    used: (hash) => {
      forgetOldest()
      const uses = known.get(hash)?.uses ?? 0
      // who comes again may wait for people, and must find the same thread after that
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
