/** How long a client waits for the answer to a call, learned from the time limits that have ended its waits. */
export interface Patience {
  /** Notes that the client's own time limit ended a call after this time, ms. */
  ended(afterMs: number): void
  /** The time to wait for reviewers before the proxy answers that the call may be made again, ms. */
  waitMs(): number
}

/** Time between the answer and the client's limit: a tenth of the limit, at least this, ms. */
const LEAST_MARGIN_MS = 500
/** Shortest limit that counts as a client's time limit, ms. */
const SHORTEST_LIMIT_MS = 1_000

export function createPatience(longestMs: number): Patience {
  let limitMs = Infinity
  return {
    ended: (afterMs) => {
      if (afterMs >= SHORTEST_LIMIT_MS) limitMs = Math.min(limitMs, afterMs)
    },
    waitMs: () => {
      if (limitMs === Infinity) return longestMs
      return Math.min(longestMs, limitMs - Math.max(LEAST_MARGIN_MS, limitMs / 10))
    },
  }
}

/** True for the reason of a cancellation that the client's own time limit caused. */
export const isTimeout = (reason: string): boolean =>
  /time[- ]?out|timed[- ]?out|time limit|deadline/i.test(reason)
