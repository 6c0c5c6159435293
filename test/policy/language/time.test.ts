import { describe, expect, it } from 'vitest'
import { endOfDate, instantOf, parseDate } from '../../../src/policy/language/time.ts'

/** Zones whose clocks change at midnight, before and behind UTC, and some that change at other hours. */
const ZONES = [
  'America/Santiago',
  'America/Havana',
  'America/Asuncion',
  'Africa/Cairo',
  'Asia/Beirut',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/Nuuk',
  'Asia/Kathmandu',
  'UTC',
]
const DAY_MS = 86_400_000

function localDate(timeZone: string, at: number): string {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  })
  return format.format(at)
}

describe('the end of a date', () => {
  it.each(ZONES)(
    'is the first instant of the next day in %s, regardless of clock changes at midnight',
    (zone) => {
      for (let date = Date.UTC(2027, 0, 1); date < Date.UTC(2028, 0, 1); date += DAY_MS) {
        const end = endOfDate(zone, date)
        const [day, next] = [date, date + DAY_MS].map((at) => new Date(at).toISOString().slice(0, 10))
        expect([localDate(zone, end - 1), localDate(zone, end)]).toEqual([day, next])
      }
    },
  )
})

describe('the instant of a local time', () => {
  const at = (day: string, hour: number, minute = 0): number =>
    (parseDate(day) ?? Number.NaN) + (hour * 60 + minute) * 60_000

  it('the instant of a time that occurs twice is the first', () => {
    expect(instantOf('Europe/Berlin', at('2027-10-31', 2, 30))).toBe(Date.UTC(2027, 9, 31, 0, 30))
    expect(instantOf('America/Havana', at('2027-11-07', 0, 30))).toBe(Date.UTC(2027, 10, 7, 4, 30))
  })

  it('the instant of a time that the clock jumps over is after the jump', () => {
    expect(instantOf('Europe/Berlin', at('2027-03-28', 2, 30))).toBe(Date.UTC(2027, 2, 28, 1, 30))
    expect(instantOf('America/Santiago', at('2027-09-05', 0, 30))).toBe(Date.UTC(2027, 8, 5, 4, 30))
  })
})
