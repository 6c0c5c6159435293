import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { commonStep, isMultiple, nextMultiple } from '../../../src/policy/schema/multiple.ts'
import { runs } from '../../runs.ts'

/** `multipleOf` of a contract, in decimal. */

describe('multipleOf', () => {
  it.each([19.99, 0.07, 0.29, 1.15, 4.35, 100.1, 0, -0, -19.99, 5e20, 90071992547409.91])(
    '%d is a multiple of 0.01',
    (value) => expect(isMultiple(value, 0.01)).toBe(true),
  )

  it.each([
    [19.999, 0.01],
    [0.001, 0.01],
    [1e-9, 1e-8],
    [7, 2],
    [0.3, 0.2],
    [1e300, 3e-300],
  ])('%d is not one of %d', (value, step) => expect(isMultiple(value, step)).toBe(false))

  it('is exact for numbers with few decimals', () => {
    const decimals = fc.integer({ min: 0, max: 6 })
    const count = fc.integer({ min: -1_000_000, max: 1_000_000 })
    fc.assert(
      fc.property(count, fc.integer({ min: 1, max: 999 }), decimals, (times, units, places) => {
        const [value, step] = [times * units, units].map((n) => Number(`${n}e-${places}`)) as [number, number]
        expect(isMultiple(value, step)).toBe(true)
        const beside = Number(`${times * units * 10 + 1}e-${places + 1}`)
        expect(isMultiple(beside, step)).toBe(false)
      }),
      { numRuns: runs(5_000) },
    )
  })
})

const digits = fc.integer({ min: 1, max: 400 })
const places = fc.integer({ min: 0, max: 3 })
const decimal = fc.tuple(digits, places).map(([units, point]) => Number(`${units}e-${point}`))
const signed = fc.tuple(decimal, fc.boolean()).map(([value, minus]) => (minus ? -value : value))

describe('the next multiple', () => {
  it.each([
    [2, 3, 4],
    [2, 4, 6],
    [2, -3, -2],
    [2, -4, -2],
    [0.01, 19.99, 20],
    [0.1, 0.2, 0.3],
    [1, 2 ** 53 - 1, 2 ** 53],
    [3, 1e300, undefined],
    [1, 1e300, undefined],
    [1e308, 1.5e308, undefined],
  ])('the next multiple of %d above %d is %d', (step, above, next) =>
    expect(nextMultiple(step, above)).toBe(next),
  )

  it('is a multiple above, at most one step away', () => {
    fc.assert(
      fc.property(decimal, signed, (step, above) => {
        const next = nextMultiple(step, above) ?? Number.NaN
        expect(isMultiple(next, step)).toBe(true)
        expect(next).toBeGreaterThan(above)
        expect(next - step).toBeLessThanOrEqual(above + 1e-9)
      }),
    )
  })
})

describe('the common step', () => {
  it.each([
    [2, 3, 6],
    [0.5, 1, 1],
    [0.1, 0.03, 0.3],
    [4, 6, 12],
    [2 ** 53 - 1, 2 ** 53 - 3, undefined],
  ])('the common multiple of %d and %d is %d', (one, other, both) =>
    expect(commonStep(one, other)).toBe(both),
  )

  it('has the multiples of both', () => {
    fc.assert(
      fc.property(decimal, decimal, signed, (one, other, value) => {
        const both = commonStep(one, other) ?? Number.NaN
        for (const times of [1, 2, 7]) {
          const multiple = Number((both * times).toPrecision(12))
          expect(isMultiple(multiple, one) && isMultiple(multiple, other)).toBe(true)
        }
        expect(isMultiple(value, both)).toBe(isMultiple(value, one) && isMultiple(value, other))
      }),
    )
  })
})
