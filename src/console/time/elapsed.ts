/** Times in words. Turns milliseconds into short text. */

const SECOND = 1_000
const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export type Urgency = 'calm' | 'soon' | 'urgent' | 'over'

export interface Countdown {
  readonly text: string
  readonly urgency: Urgency
}

/** The time left until `deadline`, with seconds when they matter. */
export function countdown(deadline: number, now: number): Countdown {
  const left = deadline - now
  if (left <= 0) return { text: 'time is up', urgency: 'over' }
  return { text: `${span(left)} left`, urgency: urgencyOf(left) }
}

function urgencyOf(left: number): Urgency {
  if (left < 5 * MINUTE) return 'urgent'
  return left < 20 * MINUTE ? 'soon' : 'calm'
}

/** The duration in two units at most: `4 s`, `3 min 05 s`, `2 h 10 min`, `5 d 3 h`. */
export function span(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.floor(ms / SECOND))} s`
  if (ms < 10 * MINUTE) return `${Math.floor(ms / MINUTE)} min ${two(Math.floor((ms % MINUTE) / SECOND))} s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h${rest(Math.floor((ms % HOUR) / MINUTE), 'min')}`
  return `${Math.floor(ms / DAY)} d${rest(Math.floor((ms % DAY) / HOUR), 'h')}`
}

const two = (value: number): string => String(value).padStart(2, '0')
const rest = (value: number, unit: string): string => (value === 0 ? '' : ` ${value} ${unit}`)

/** A shorter look than this is a mark of an approval. */
const GLANCE_MS = 3 * SECOND

/** How long a reviewer looked. `glance` is true for less than three seconds. */
export const lookOf = (ms: number): { readonly text: string; readonly glance: boolean } => ({
  text: `looked ${ms < GLANCE_MS ? `${(ms / SECOND).toFixed(1)} s` : span(ms)}`,
  glance: ms < GLANCE_MS,
})

/** The text for a time in the past. Clocks differ, so the near future counts as now. */
export function ago(then: number, now: number): string {
  const ms = now - then
  if (ms < 5 * SECOND) return 'just now'
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s ago`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ago`
  return ms < DAY ? `${Math.floor(ms / HOUR)} h ago` : `${Math.floor(ms / DAY)} d ago`
}

/** Formats a duration in the notation of policy files: `90s`, `15m`, `4h`, `2d`. */
export function duration(ms: number): string {
  const units: readonly (readonly [number, string])[] = [
    [DAY, 'd'],
    [HOUR, 'h'],
    [MINUTE, 'm'],
    [SECOND, 's'],
  ]
  const [size, name] = units.find(([one]) => ms >= one && ms % one === 0) ?? [1, 'ms']
  return `${ms / size}${name}`
}
