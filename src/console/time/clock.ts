import { signal } from '@preact/signals'

/** The estimated difference between this clock and the gateway's, from its answers, ms. */
let skew = 0
export const now = signal(Date.now())

const TICK_MS = 1_000
/** Smaller differences are ignored, ms, because the `Date` of an answer has whole seconds. */
const TRUST_MS = 2_000

export function startClock(): void {
  setInterval(tick, TICK_MS)
}

function tick(): void {
  now.value = Date.now() + skew
}

/** Updates the estimate from an answer's `Date` header. */
export function learnTime(date: string | null): void {
  const there = Date.parse(date ?? '')
  if (Number.isNaN(there) || Math.abs(there - Date.now() - skew) < TRUST_MS) return
  skew = there - Date.now()
  tick()
}
