import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ATTEMPTS, pauseAfter, readRetryAfter, RETRY_AFTER_ATTEMPT_MS } from '../../src/domain/retry.ts'

const DAY = 24 * 3_600_000

describe('the next try', () => {
  it('is made ten times in all, over 75.5 hours', () => {
    expect(ATTEMPTS).toBe(10)
    expect(RETRY_AFTER_ATTEMPT_MS.reduce((sum, ms) => sum + ms)).toBe((75 * 3_600 + 35 * 60 + 5) * 1_000)
    expect(pauseAfter(10, 0.5, undefined)).toBeUndefined()
    expect(pauseAfter(10, 0.5, DAY)).toBeUndefined()
  })

  it("is delayed by up to a fifth, never before the receiver's time, and within a day of it", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.option(fc.nat(10 * DAY), { nil: undefined }),
        (attempt, random, wished) => {
          const base = RETRY_AFTER_ATTEMPT_MS[attempt - 1] ?? 0
          const pause = pauseAfter(attempt, random, wished) ?? 0
          expect(pause).toBeGreaterThanOrEqual(Math.max(base, Math.min(wished ?? 0, DAY)))
          expect(pause).toBeLessThanOrEqual(Math.max(base * 1.2, Math.min(wished ?? 0, DAY)))
        },
      ),
    )
    expect(pauseAfter(1, 0.5, undefined)).toBe(5_500)
    expect(pauseAfter(1, 0.5, Infinity)).toBe(DAY)
  })

  it.each([
    ['120', 120_000],
    ['0', 0],
    ['99999999999', 99_999_999_999_000],
    ['9'.repeat(400), Infinity],
    ['Mon, 02 Mar 2026 12:00:30 GMT', 30_000],
    ['Mon, 02 Mar 2026 12:00:00 GMT', undefined],
    ['Mon, 02 Mar 2026 11:59:59 GMT', undefined],
    ['Monday, 02-Mar-26 12:00:30 GMT', 30_000],
    ['Mon Mar  2 12:00:30 2026', 30_000],
    ['Mon, 32 Mar 2026 12:00:30 GMT', undefined],
    ['Mon, 02 Foo 2026 12:00:30 GMT', undefined],
    ['Mon, 02 Mar 2026 12:00:30 +0100', undefined],
    ['1e99', undefined],
    ['+120', undefined],
    ['120, 240', undefined],
    ['-5', undefined],
    ['abc', undefined],
    ['1.5', undefined],
    ['2026-03-02T12:00:30Z', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('reads Retry-After `%s` as %s ms', (header, ms) => {
    expect(readRetryAfter(header, Date.UTC(2026, 2, 2, 12))).toBe(ms)
  })
})
