import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sortedKeys } from '../../../src/store/redis/sorted-keys.ts'

describe('sorted keys', () => {
  it('sorted keys are in the order of their parts, each once', async () => {
    const key = fc.string({ unit: fc.constantFrom('a', 'b', ':'), maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(key)), async (pages) => {
        const partsOf = (one: string) => [...one.split(':'), one]
        const found = await sortedKeys(each(pages), partsOf)
        expect(new Set(found)).toEqual(new Set(pages.flat()))
        expect(found).toHaveLength(new Set(pages.flat()).size)
        const inOrder = found.every(
          (one, i) => i === 0 || isBefore(partsOf(found[i - 1] ?? ''), partsOf(one)),
        )
        expect(inOrder).toBe(true)
      }),
      { numRuns: 150 },
    )
  })
})

async function* each(pages: readonly string[][]): AsyncGenerator<string[]> {
  yield* pages
}

function isBefore(a: readonly string[], b: readonly string[]): boolean {
  const at = a.findIndex((part, i) => part !== b[i])
  if (at < 0) return a.length < b.length
  const [x, y] = [a[at], b[at]]
  return y !== undefined && x !== undefined && x < y
}
