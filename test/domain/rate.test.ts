import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Bucket, takeToken } from '../../src/domain/rate.ts'

const RATE = { calls: 3, withinMs: 3_000 }

/** The moments of `at` at which a call was let through. */
function passed(at: readonly number[], rate = RATE): number[] {
  let bucket: Bucket | undefined
  return at.filter((now) => {
    const taken = takeToken(bucket, rate, now)
    bucket = taken.bucket
    return taken.retryAfterMs === undefined
  })
}

describe('the rate of calls', () => {
  it('lets a burst of the whole rate through at once, then one per share of time', () => {
    expect(passed([0, 0, 0, 0, 999, 1_000, 1_001, 2_000])).toEqual([0, 0, 0, 1_000, 2_000])
  })

  it('never lets more through in any window than a full bucket and what was refilled meanwhile', () => {
    const moments = fc.array(fc.nat({ max: 500 }), { maxLength: 60 }).map((gaps) => {
      let now = 0
      return gaps.map((gap) => (now += gap))
    })
    fc.assert(
      fc.property(moments, (at) => {
        const through = passed(at)
        for (const [i, start] of through.entries()) {
          for (const [j, end] of through.entries()) {
            if (j >= i) expect(j - i + 1).toBeLessThanOrEqual(3 + (end - start) / 1_000 + 1e-6)
          }
        }
      }),
    )
  })

  it('says how long to wait: then, and not sooner, a call gets through', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 100, max: 100_000 }),
        (calls, withinMs) => {
          const rate = { calls, withinMs }
          let bucket: Bucket | undefined
          for (let i = 0; i < calls; i++) bucket = takeToken(bucket, rate, 0).bucket
          const refused = takeToken(bucket, rate, 0)
          const wait = refused.retryAfterMs ?? Number.NaN
          expect(wait).toBeCloseTo(withinMs / calls, 6)
          expect(takeToken(refused.bucket, rate, wait * 0.99).retryAfterMs).toBeGreaterThan(0)
          expect(takeToken(refused.bucket, rate, wait * 1.01).retryAfterMs).toBeUndefined()
        },
      ),
    )
  })

  it('gives nothing back when the clock stands still or goes back, and never more than the rate', () => {
    expect(passed([1_000, 1_000, 1_000, 500, 0])).toEqual([1_000, 1_000, 1_000])
    const full = takeToken({ tokens: 3, at: 0 }, RATE, 1e9)
    expect(full.bucket.tokens).toBe(2)
  })
})
