import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ANY_NUMBER, inRange, numberPoints, type Numbers } from '../../../src/policy/schema/possible.ts'
import { runs } from '../../runs.ts'

/**
 * Between two neighbours of the limits every comparison has one answer. Each stretch that holds a number has a point.
 */

const number = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -12, max: 12 }).map((quarters) => quarters / 4) },
  { weight: 1, arbitrary: fc.constantFrom(1e16, 1e16 + 2, -1e16, 1e300, -1e300, 5e-324, Number.MAX_VALUE) },
)
const numbers: fc.Arbitrary<Numbers> = fc
  .record({
    integer: fc.boolean(),
    step: fc.option(fc.constantFrom(0.25, 0.5, 0.75, 2, 3), { nil: undefined }),
    min: fc.oneof(number, fc.constant(Number.NEGATIVE_INFINITY)),
    max: fc.oneof(number, fc.constant(Number.POSITIVE_INFINITY)),
    minOpen: fc.boolean(),
    maxOpen: fc.boolean(),
  })
  .map(({ step, ...rest }) => ({ ...rest, ...(step !== undefined && { step }) }))
const sides = (value: number, limits: readonly number[]): string =>
  limits.map((limit) => Math.sign(value - limit)).join()

describe('the points of a range', () => {
  it('the points of a range omit no interval that has a number', () => {
    let held = 0
    fc.assert(
      fc.property(
        numbers,
        fc.array(number, { maxLength: 4 }),
        fc.array(number, { minLength: 30 }),
        (range, limits, values) => {
          const reached = new Set(numberPoints(range, limits).map((point) => sides(point, limits)))
          for (const value of values.filter((one) => inRange(range, one))) {
            held++
            expect(reached).toContain(sides(value, limits))
          }
        },
      ),
      { numRuns: runs(4_000) },
    )
    expect(held).toBeGreaterThan(runs(10_000))
  })

  it.each<[string, Numbers, number[]]>([
    ['a whole number between two neighbours', { ...ANY_NUMBER, integer: true }, [4, 5]],
    ['an even number between two of them', { ...ANY_NUMBER, step: 2 }, [4, 6]],
    ['a multiple of 0.1 between two of them', { ...ANY_NUMBER, step: 0.1 }, [0.2, 0.3]],
    ['one of both steps', { ...ANY_NUMBER, integer: true, step: 1.5 }, [3, 6]],
  ])('the points of a range are empty for %s', (_, range, [low = 0, high = 0]) =>
    expect(numberPoints(range, [low, high]).filter((point) => point > low && point < high)).toEqual([]),
  )
})
