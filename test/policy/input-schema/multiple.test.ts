import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isMultiple } from '../../../src/policy/input-schema/multiple.ts'

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
  ])('%d is none of %d', (value, step) => expect(isMultiple(value, step)).toBe(false))

  it('is exact for everything that is written with a few decimals', () => {
    const decimals = fc.integer({ min: 0, max: 6 })
    const count = fc.integer({ min: -1_000_000, max: 1_000_000 })
    fc.assert(
      fc.property(count, fc.integer({ min: 1, max: 999 }), decimals, (times, units, places) => {
        const [value, step] = [times * units, units].map((n) => Number(`${n}e-${places}`)) as [number, number]
        expect(isMultiple(value, step)).toBe(true)
        const beside = Number(`${times * units * 10 + 1}e-${places + 1}`)
        expect(isMultiple(beside, step)).toBe(false)
      }),
      { numRuns: 5_000 },
    )
  })
})
