import type { Decision } from './types.ts'

/** A gateway that does not hold a poll is never asked in a tight loop. */
const LEAST_MS = 1_000

/**
 * How long after one poll the next may begin, ms: what the gateway recommends (docs/agent-api.md, Decision), though no later than it may answer a poll
 * that it holds. Who has held one has waited for long enough.
 *
 * @param waitSeconds how long the poll might be held
 */
export function pollAfterMs({ recommended_poll_after_seconds: wish }: Decision, waitSeconds: number): number {
  // of a gateway, whatever the types say
  const seconds = typeof wish === 'number' && wish > 0 ? Math.min(wish, waitSeconds) : 0
  return Math.max(LEAST_MS, seconds * 1_000)
}
