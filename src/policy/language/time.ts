import { UNIT_MS } from '../text/text.ts'
import { remember } from './remember.ts'

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof WEEKDAYS)[number]

/** A time of the week. */
export interface WeekTime {
  readonly weekday: Weekday
  /** 0 to 23. */
  readonly hour: number
}

export interface LocalTime extends WeekTime {
  /** `2027-01-31` */
  readonly date: string
  /** The day of the month, 1 to 31. */
  readonly day: number
}

export const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
/** Every UTC offset in use is a multiple of a slot, so the local date and hour are constant within a slot. */
const SLOT_MS = 15 * 60_000

const RFC_3339 = /^\d{4}-\d{2}-\d{2}T(?!24)\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/i

/**
 * Returns an RFC 3339 date and time as ms since 1970, or NaN. Date.parse alone also accepts `1/2/2026` (in the
 * machine's time zone) and hour 24, and reads 30 February as 2 March.
 */
export function dateTimeOf(text: string): number {
  const isDay = new Date(text.slice(0, 10)).getUTCDate() === Number(text.slice(8, 10))
  return isDay && RFC_3339.test(text) ? Date.parse(text) : Number.NaN
}

export function isTimeZone(zone: string): boolean {
  // Intl also accepts `+02:00`. A policy must name a place, because the place's clock may change with the seasons.
  if (!/^[A-Za-z]/.test(zone)) return false
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: zone })
    return true
  } catch {
    return false
  }
}

/** Returns a clock that reads the local time in a time zone. The clock calls Intl once per quarter of an hour. */
export function createClock(timezone: string): (at: number) => LocalTime {
  let format: Intl.DateTimeFormat | undefined
  let slot = Number.NaN
  let local: LocalTime | undefined
  return (at) => {
    const wanted = Math.floor(at / SLOT_MS)
    if (local !== undefined && wanted === slot) return local
    format ??= new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      weekday: 'short',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      hourCycle: 'h23',
    })
    const parts = new Map(format.formatToParts(at).map((part) => [part.type, part.value]))
    const weekday = WEEKDAYS.find((day) => day === parts.get('weekday')?.toLowerCase()) ?? 'mon'
    const day = parts.get('day') ?? ''
    const date = `${(parts.get('year') ?? '').padStart(4, '0')}-${parts.get('month') ?? ''}-${day}`
    local = { weekday, hour: Number(parts.get('hour')), date, day: Number(day) }
    slot = wanted
    return local
  }
}

/** One formatter for each time zone, because creating a formatter takes longer than an inline test. */
const FORMATS = new Map<string, Intl.DateTimeFormat>()

function formatOf(timezone: string): Intl.DateTimeFormat {
  return remember(
    FORMATS,
    timezone,
    () =>
      new Intl.DateTimeFormat('en-US', {
        timeZone: timezone,
        hourCycle: 'h23',
        year: 'numeric',
        month: '2-digit',
        day: '2-digit',
        hour: '2-digit',
        minute: '2-digit',
        second: '2-digit',
      }),
  )
}

/** Returns the offset of a time zone from UTC at an instant, in ms. */
function offsetAt(timezone: string, at: number): number {
  const parts = new Map(
    formatOf(timezone)
      .formatToParts(at)
      .map((part) => [part.type, Number(part.value)]),
  )
  const get = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0
  const local = Date.UTC(get('year'), get('month') - 1, get('day'), get('hour'), get('minute'), get('second'))
  return local - Math.floor(at / 1000) * 1000
}

/** Returns the local date at an instant, as midnight UTC. */
export function localDay(timezone: string, at: number): number {
  return Math.floor((at + offsetAt(timezone, at)) / DAY_MS) * DAY_MS
}

/**
 * Returns the first instant at which clocks in the time zone show a local time; `local` is that time read as UTC. For a
 * time that clocks skip, the offset before the jump applies.
 */
export function instantOf(timezone: string, local: number): number {
  // No zone changes its clock twice within three days.
  const [before, after] = [offsetAt(timezone, local - DAY_MS), offsetAt(timezone, local + DAY_MS)]
  const earlier = local - Math.max(before, after)
  return offsetAt(timezone, earlier) === local - earlier ? earlier : local - Math.min(before, after)
}

/** Returns a calendar date (`2027-01-31`) as midnight UTC, or undefined when the day does not exist. */
export function parseDate(text: string): number | undefined {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)
  if (!match) return undefined
  const ms = Date.UTC(Number(match[1]), Number(match[2]) - 1, Number(match[3]))
  return new Date(ms).toISOString().startsWith(text) ? ms : undefined
}

export function isDate(text: string): boolean {
  return parseDate(text) !== undefined
}

type Compare = (text: string) => boolean | undefined

/** Compares texts with a date. The answer is undefined for a string that is not a date. */
export function isFrom(date: string): Compare {
  return (text) => (isDate(text) ? text >= date : undefined)
}

export function isUntil(date: string): Compare {
  return (text) => (isDate(text) ? text <= date : undefined)
}

/** Returns the day before a date, the date, and the day after. */
export function daysAround(text: string): readonly string[] {
  const day = parseDate(text)
  return day === undefined ? [] : [day - DAY_MS, day, day + DAY_MS].map(dateText)
}

/** Returns midnight UTC of a date as `2027-01-31`. */
export function dateText(day: number): string {
  return new Date(day).toISOString().slice(0, 10)
}

/** Returns the first instant after a date in the time zone, because `until` includes its day. */
export function endOfDate(timezone: string, date: number): number {
  return instantOf(timezone, date + DAY_MS)
}

const FIRST_MONDAY = Date.UTC(2024, 0, 1)

/** Returns a weekday and hour in the last week (from Monday) that ends before `before` and begins by 2024-01-01. */
export function weekdayBefore(timezone: string, before: number, { weekday, hour }: WeekTime): number {
  let monday = FIRST_MONDAY
  while (monday + 8 * DAY_MS >= before) monday -= 7 * DAY_MS
  return instantOf(timezone, monday + WEEKDAYS.indexOf(weekday) * DAY_MS + hour * HOUR_MS)
}

/** Returns the duration as a policy writes it. */
export function duration(ms: number): string {
  const [unit, size] = Object.entries(UNIT_MS).findLast(([, each]) => ms % each === 0) ?? ['s', 1_000]
  return `${ms / size}${unit}`
}
