import { signal } from '@preact/signals'

/** The gateway's time, as well as we know it: this machine's clock, corrected by what answers say. */
let skew = 0
export const now = signal(Date.now())

const TICK_MS = 1_000
/** `Date` of an answer has whole seconds: less than this says nothing. */
const TRUST_MS = 2_000

export function startClock(): void {
  setInterval(tick, TICK_MS)
}

function tick(): void {
  now.value = Date.now() + skew
}

/** Takes the time of an answer's `Date` header. */
export function learnTime(date: string | null): void {
  const there = Date.parse(date ?? '')
  if (Number.isNaN(there) || Math.abs(there - Date.now() - skew) < TRUST_MS) return
  skew = there - Date.now()
  tick()
}
