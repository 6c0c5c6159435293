import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { editDistance, nearest } from '../../../src/policy/text/nearest.ts'
import { cpuMs } from '../../growth.ts'
import { IS_SOAK, runs } from '../../runs.ts'

/** The whole table, as the textbook has it. */
function distance(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (__, j) => (i === 0 ? j : j === 0 ? i : 0)),
  )
  const at = (i: number, j: number): number => table[i]?.[j] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= a.length; i++)
    for (let j = 1; j <= b.length; j++) {
      const changed = a[i - 1] === b[j - 1] ? 0 : 1
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const costs = [at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + changed]
      ;(table[i] as number[])[j] = Math.min(...costs, swapped ? at(i - 2, j - 2) + 1 : (costs[0] as number))
    }
  return at(a.length, b.length)
}

const words = fc.string({ unit: fc.constantFrom('a', 'b', '_'), maxLength: 9 })

describe('the nearest name', () => {
  it('is chosen by the edit distance of the full table', () => {
    fc.assert(
      fc.property(words, words, (a, b) => {
        expect(editDistance(a, b)).toBe(distance(a, b))
      }),
      { numRuns: runs(5_000) },
    )
  })

  it('is the first with the least distance, within a third of the word', () => {
    fc.assert(
      fc.property(words, fc.array(words, { maxLength: 6 }), (word, candidates) => {
        const limit = Math.max(1, Math.min(3, Math.floor(word.length / 3)))
        const all = candidates.map((one) => distance(word, one))
        const least = Math.min(...all)
        expect(nearest(word, candidates)).toBe(least <= limit ? candidates[all.indexOf(least)] : undefined)
      }),
      { numRuns: runs(5_000) },
    )
  })

  it.runIf(IS_SOAK)(
    'takes a small part of the time of the full tables, for many slips and a thousand names',
    () => {
      const names = Array.from({ length: 1_000 }, (_, n) => `some.tool.with.a.name.${n}`)
      const slips = Array.from({ length: 10 }, (_, n) => `some.tood.wiht.a.nbme.${n}`)
      const tables = cpuMs(() => slips.map((slip) => names.map((name) => distance(slip, name))))
      const least = Math.min(...[1, 2, 3].map(() => cpuMs(() => slips.map((slip) => nearest(slip, names)))))
      expect(least / tables).toBeLessThan(0.2)
    },
  )
})
