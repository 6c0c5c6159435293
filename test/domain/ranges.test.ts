import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Ranges } from '../../src/domain/ranges.ts'
import { runs } from '../runs.ts'

const pair = fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: -2, max: 8 }))
const pairs = fc.array(
  pair.map(([first, length]) => [first, first + length] as const),
  { maxLength: 20 },
)

interface Both {
  readonly ranges: Ranges
  readonly numbers: ReadonlySet<number>
}

/** @param read the count of ranges after which the ranges are read for the first time */
function both(list: readonly (readonly [number, number])[], read: number): Both {
  const ranges = new Ranges()
  const numbers = new Set<number>()
  for (const [i, [first, last]] of list.entries()) {
    ranges.addRange(first, last)
    for (let number = first; number <= last; number++) numbers.add(number)
    if (i === read) expect(ranges.size).toBe(numbers.size)
  }
  return { ranges, numbers }
}

/** Neighbours of a set of numbers. */
function pairsOf(numbers: ReadonlySet<number>): number[][] {
  const result: number[][] = []
  for (const number of [...numbers].toSorted((a, b) => a - b)) {
    const end = result.at(-1)
    if (end !== undefined && end[1] === number - 1) end[1] = number
    else result.push([number, number])
  }
  return result
}

describe('ranges', () => {
  it('have the numbers of a set, in any order', () => {
    fc.assert(
      fc.property(pairs, pairs, fc.nat(20), fc.nat(70), (one, two, read, most) => {
        const a = both(one, read)
        const b = both(two, read)
        expect(a.ranges.pairs()).toEqual(pairsOf(a.numbers))
        expect(a.ranges.sizeUpTo(most)).toBe([...a.numbers].filter((number) => number <= most).length)
        const lacking = [...a.numbers].filter((number) => !b.numbers.has(number))
        expect(a.ranges.without(b.ranges)).toBe(lacking.length === 0 ? undefined : Math.min(...lacking))
      }),
      { numRuns: runs(2_000) },
    )
  })

  it('take hundreds of thousands of ranges out of order in a short time', () => {
    const COUNT = 200_000
    const down = new Ranges()
    const up = new Ranges()
    const start = performance.now()
    for (let i = COUNT; i > 0; i--) down.add(2 * i)
    for (let i = 1; i <= COUNT; i++) up.add(2 * i)
    expect(down.size).toBe(COUNT)
    expect(up.without(down)).toBeUndefined()
    expect(performance.now() - start).toBeLessThan(5_000)
  })
})
