/**
 * The retry schedule of deliveries, according to Standard Webhooks 1.0.0 ("retry schedule"), with jitter and the
 * receiver's Retry-After.
 */
export const RETRY_AFTER_ATTEMPT_MS: readonly number[] = [
  5_000,
  5 * 60_000,
  30 * 60_000,
  2 * 3_600_000,
  5 * 3_600_000,
  10 * 3_600_000,
  14 * 3_600_000,
  20 * 3_600_000,
  24 * 3_600_000,
]
/** The number of attempts: the first attempt, and another after each pause. */
export const ATTEMPTS = RETRY_AFTER_ATTEMPT_MS.length + 1

/** Jitter only adds delay, so a receiver that recovers within three days gets every delivery. */
const JITTER = 0.2
const LONGEST_WISH_MS = 24 * 3_600_000

/**
 * The pause in ms after attempt number `attempt` (from 1) has failed; undefined after the last attempt. The range of
 * `random` is 0 to 1. `wished` is the time of Retry-After. The pause lasts at least for that time, which counts as a
 * day at most.
 */
export function pauseAfter(attempt: number, random: number, wished: number | undefined): number | undefined {
  const base = RETRY_AFTER_ATTEMPT_MS[attempt - 1]
  if (base === undefined) return undefined
  const jittered = Math.round(base * (1 + JITTER * random))
  return Math.max(jittered, Math.min(wished ?? 0, LONGEST_WISH_MS))
}

/**
 * Retry-After (RFC 9110 section 10.2.3) in ms from `now`: a number of seconds, or an HTTP date. Returns undefined for
 * other or past values.
 */
export function readRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  const text = header.trim()
  if (/^\d+$/.test(text)) return Number(text) * 1_000
  const date = readHttpDate(text)
  return date > now ? date - now : undefined
}

const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
const RFC_850 = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

/**
 * Parses an HTTP date in the current form or in one of the two obsolete forms, which must be accepted (RFC 9110 section
 * 5.6.7). Otherwise NaN.
 */
function readHttpDate(text: string): number {
  if (ASCTIME.test(text)) return Date.parse(`${text} GMT`)
  return IMF_FIXDATE.test(text) || RFC_850.test(text) ? Date.parse(text) : Number.NaN
}
