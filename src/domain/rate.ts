/** A token bucket: `calls` per `withinMs`, refilled evenly, full at the start. */
export interface Rate {
  readonly calls: number
  readonly withinMs: number
}

export interface Bucket {
  readonly tokens: number
  readonly at: number
}

/** One call at `now` (ms). `retryAfterMs` is set when the call is over the rate; then the bucket is unchanged but for time. */
export function takeToken(
  bucket: Bucket | undefined,
  rate: Rate,
  now: number,
): { bucket: Bucket; retryAfterMs?: number } {
  const perMs = rate.calls / rate.withinMs
  const before = bucket ?? { tokens: rate.calls, at: now }
  const tokens = Math.min(rate.calls, before.tokens + Math.max(0, now - before.at) * perMs)
  if (tokens < 1) return { bucket: { tokens, at: now }, retryAfterMs: (1 - tokens) / perMs }
  return { bucket: { tokens: tokens - 1, at: now } }
}
