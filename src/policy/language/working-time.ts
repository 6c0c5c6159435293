import type { ReviewRequirement, WorkingTime } from '../../domain/decision.ts'
import { DAY_MS, dateText, instantOf, localDay, MINUTE_MS, WEEKDAYS } from './time.ts'

/** Returns the requirement of a call that is submitted at `at`, with all times around the clock. */
export function clocked(requirement: ReviewRequirement, at: number): ReviewRequirement {
  const { working, ...rest } = requirement
  if (working === undefined) return requirement
  const ms = (worked: number): number => elapsedAfter(worked, at, working)
  return {
    ...rest,
    seats: rest.seats.map((seat) => ({
      ...seat,
      escalate: seat.escalate.map((one) => ({ ...one, after_ms: ms(one.after_ms) })),
    })),
    expires_ms: ms(rest.expires_ms),
    remind_after_ms: rest.remind_after_ms.map(ms),
    working_ms: rest.expires_ms,
  }
}

/**
 * Returns the time in ms until `worked` ms of working time have passed since `at`. A day whose clock changes is shorter
 * or longer by that change.
 */
export function elapsedAfter(worked: number, at: number, working: WorkingTime): number {
  const { timezone, opens, closes } = working
  let left = worked
  for (let day = localDay(timezone, at); ; day += DAY_MS) {
    if (!isWorkingDay(day, working)) continue
    const start = Math.max(at, instantOf(timezone, day + opens * MINUTE_MS))
    const length = instantOf(timezone, day + closes * MINUTE_MS) - start
    if (length <= 0) continue
    if (left <= length) return start + left - at
    left -= length
  }
}

/** Returns a time in ms that the requirement never exceeds around the clock. */
export function longestMs({ expires_ms, working }: ReviewRequirement): number {
  if (working === undefined) return expires_ms
  const { opens, closes, holidays } = working
  // each working day, even if its clock skips it, and each holiday costs at most a week
  const days = Math.ceil(expires_ms / ((closes - opens) * MINUTE_MS)) + holidays.length + 2
  return days * WEEKDAYS.length * DAY_MS
}

const FIRST_MONDAY = Date.UTC(2024, 0, 1)

/** @param day midnight UTC of a local date */
function isWorkingDay(day: number, { days, holidays }: WorkingTime): boolean {
  const number = Math.round((day - FIRST_MONDAY) / DAY_MS) % WEEKDAYS.length
  const weekday = WEEKDAYS.at(number)
  return weekday !== undefined && days.includes(weekday) && !holidays.includes(dateText(day))
}

/** Returns text such as `working time (mon-fri 08:00-18:00)`. */
export function hoursText({ days, opens, closes, holidays }: WorkingTime): string {
  const off = holidays.length === 0 ? '' : `, without ${holidays.length} holidays`
  return `working time (${days.join(', ')} ${clockText(opens)}-${clockText(closes)}${off})`
}

const clockText = (minutes: number): string =>
  [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':')
