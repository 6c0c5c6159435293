import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createRates } from '../../../src/http/core/rate-limit.ts'

const RATE = { calls: 3, withinMs: 3_000 }
const HOUR_MS = 3_600_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const later = (ms: number): unknown => vi.advanceTimersByTime(ms)

/** The moments at which a call was let through, of calls that are `gaps` ms apart. */
function passed(gaps: readonly number[]): number[] {
  const rates = createRates()
  const through: number[] = []
  let now = 0
  for (const gap of gaps) {
    later(gap)
    now += gap
    if (rates.take('key', RATE) === undefined) through.push(now)
  }
  return through
}

describe('the rate of calls', () => {
  it('allows a burst of the whole rate at once, then one call per share of time', () => {
    expect(passed([0, 0, 0, 0, 999, 1, 1, 999])).toEqual([0, 0, 0, 1_000, 2_000])
  })

  it('never allows more in any window than a full bucket and its refill', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 500 }), { maxLength: 60 }), (gaps) => {
        const through = passed(gaps)
        for (const [i, start] of through.entries()) {
          for (const [j, end] of through.entries()) {
            if (j >= i) expect(j - i + 1).toBeLessThanOrEqual(3 + (end - start) / 1_000 + 1e-6)
          }
        }
      }),
    )
  })

  it('says how long to wait: a call succeeds then, and not before', () => {
    const rates = fc.record({
      calls: fc.integer({ min: 1, max: 50 }),
      withinMs: fc.integer({ min: 100, max: 100_000 }),
    })
    fc.assert(
      fc.property(rates, (rate) => {
        const counted = createRates()
        for (let i = 0; i < rate.calls; i++) expect(counted.take('key', rate)).toBeUndefined()
        const wait = counted.take('key', rate) ?? Number.NaN
        const share = rate.withinMs / rate.calls
        expect([wait >= share, wait < share + 2]).toEqual([true, true])
        later(Math.floor(share) - 1)
        expect(counted.take('key', rate)).toBeGreaterThan(0)
        later(3)
        expect(counted.take('key', rate)).toBeUndefined()
      }),
    )
  })

  it('counts each key separately, and saves up no more than the rate', () => {
    const rates = createRates()
    for (let i = 0; i < 3; i++) expect(rates.take('one', RATE)).toBeUndefined()
    expect(rates.take('one', RATE)).toBe(1_000)
    expect(rates.take('other', RATE)).toBeUndefined()
    later(HOUR_MS)
    expect(Array.from({ length: 5 }, () => rates.take('one', RATE))).toEqual([
      undefined,
      undefined,
      undefined,
      1_000,
      1_000,
    ])
  })

  it('a changed rate returns nothing that was used, and holds from then on', () => {
    const rates = createRates()
    for (let i = 0; i < 3; i++) rates.take('key', RATE)
    const higher = { calls: 6, withinMs: 3_000 }
    expect(rates.take('key', higher)).toBe(500)
    later(500)
    expect([rates.take('key', higher), rates.take('key', higher)]).toEqual([undefined, 500])
  })
})
