import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WorkingTime } from '../../../src/domain/decision.ts'
import { WEEKDAYS } from '../../../src/policy/language/time.ts'
import { clocked, elapsedAfter, longestMs } from '../../../src/policy/language/working-time.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const OFFICE: WorkingTime = {
  timezone: 'Europe/Berlin',
  days: ['mon', 'tue', 'wed', 'thu', 'fri'],
  opens: 8 * 60,
  closes: 18 * 60,
  holidays: ['2026-12-25', '2027-01-01'],
}

const ended = (hours: number, at: string, working = OFFICE): string => {
  const start = Date.parse(at)
  return new Date(start + elapsedAfter(hours * HOUR_MS, start, working)).toISOString()
}

describe('working time', () => {
  it.each([
    ['within a day', 2, '2026-11-25T09:00:00Z', '2026-11-25T11:00:00.000Z'],
    ['at the end of a day', 1, '2026-11-25T16:00:00Z', '2026-11-25T17:00:00.000Z'],
    ['over a night', 4, '2026-11-25T16:30:00Z', '2026-11-26T10:30:00.000Z'],
    ['over a weekend', 4, '2026-11-27T16:30:00Z', '2026-11-30T10:30:00.000Z'],
    ['from a night', 1, '2026-11-25T02:00:00Z', '2026-11-25T08:00:00.000Z'],
    ['from a weekend', 1, '2026-11-28T12:00:00Z', '2026-11-30T08:00:00.000Z'],
    ['over holidays', 4, '2026-12-24T16:00:00Z', '2026-12-28T10:00:00.000Z'],
    ['into summer time', 4, '2026-03-27T16:00:00Z', '2026-03-30T09:00:00.000Z'],
    ['into winter time', 4, '2026-10-23T15:00:00Z', '2026-10-26T10:00:00.000Z'],
  ])('%s', (_, hours, at, end) => {
    expect(ended(hours, at)).toBe(end)
  })

  it('is shorter on a day whose clock skips an hour of it', () => {
    const nights = { ...OFFICE, days: [...WEEKDAYS], opens: 60, closes: 4 * 60, holidays: [] }
    // 01:00 to 04:00 in Berlin has two hours on 29 March
    expect(ended(3, '2026-03-28T12:00:00Z', nights)).toBe('2026-03-30T00:00:00.000Z')
  })

  it('counts the minutes in which the office is open, and ends within the longest time', () => {
    const local = (timeZone: string): ((at: number) => readonly [string, number, string]) => {
      const format = new Intl.DateTimeFormat('en-US', {
        timeZone,
        weekday: 'short',
        year: 'numeric',
        month: '2-digit',
        day: '2-digit',
        hour: '2-digit',
        minute: '2-digit',
        hourCycle: 'h23',
      })
      return (at) => {
        const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]))
        const date = `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}`
        const minutes = Number(parts.get('hour')) * 60 + Number(parts.get('minute'))
        return [parts.get('weekday')?.toLowerCase() ?? '', minutes, date]
      }
    }
    const half = fc.integer({ min: 0, max: 46 })
    fc.assert(
      fc.property(
        fc.constantFrom('Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'UTC'),
        fc.subarray([...WEEKDAYS], { minLength: 1 }),
        fc.tuple(half, half).filter(([a, b]) => a !== b),
        fc.integer({ min: Date.UTC(2026, 2, 20) / HOUR_MS, max: Date.UTC(2026, 10, 20) / HOUR_MS }),
        fc.integer({ min: 1, max: 20 }),
        (timezone, days, hours, hour, halves) => {
          const [opens = 0, closes = 0] = [...hours].sort((a, b) => a - b).map((one) => one * 30)
          const holidays = ['2026-04-03', '2026-05-01']
          const working = { timezone, days, opens, closes, holidays }
          const at = hour * HOUR_MS
          const worked = halves * 30 * MINUTE_MS
          const elapsed = elapsedAfter(worked, at, working)
          const read = local(timezone)
          const isOpen = (ms: number): boolean => {
            const [day, minute, date] = read(ms)
            const works = days.some((one) => one === day) && !holidays.includes(date)
            return works && minute >= opens && minute < closes
          }
          let open = 0
          for (let ms = at; ms < at + elapsed; ms += 15 * MINUTE_MS) if (isOpen(ms)) open += 15 * MINUTE_MS
          expect(open).toBe(worked)
          expect(isOpen(at + elapsed - 15 * MINUTE_MS)).toBe(true)
          const requirement = { seats: [], expires_ms: worked, remind_after_ms: [], working }
          expect(elapsed).toBeLessThanOrEqual(longestMs(requirement))
        },
      ),
      { numRuns: 60 },
    )
  })

  it('moves the end, reminders and escalations of a requirement, and keeps its other parts', () => {
    const friday = Date.parse('2026-11-27T16:30:00Z')
    const requirement = {
      seats: [{ group: 'desk', approvals: 1, escalate: [{ group: 'leads', after_ms: 2 * HOUR_MS }] }],
      expires_ms: 4 * HOUR_MS,
      remind_after_ms: [HOUR_MS / 4],
      interactive: true,
      working: OFFICE,
    }
    expect(clocked(requirement, friday)).toEqual({
      seats: [{ group: 'desk', approvals: 1, escalate: [{ group: 'leads', after_ms: 64 * HOUR_MS }] }],
      expires_ms: 66 * HOUR_MS,
      remind_after_ms: [HOUR_MS / 4],
      interactive: true,
      working_ms: 4 * HOUR_MS,
    })
    const { working: _, ...always } = requirement
    expect(clocked(always, friday)).toBe(always)
  })
})
