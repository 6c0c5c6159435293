import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sortedKeys } from '../../../src/store/redis/sorted-keys.ts'

describe('sorted keys', () => {
  it('are in the order of their parts, each once, however many runs they took', async () => {
    const key = fc.string({ unit: fc.constantFrom('a', 'b', ':'), maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(key)), fc.integer({ min: 1, max: 6 }), async (pages, runKeys) => {
        const found: string[] = []
        const partsOf = (one: string) => [...one.split(':'), one]
        for await (const one of sortedKeys(each(pages), partsOf, runKeys)) found.push(one)
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

  it('are compared no more often where there are many runs: each key with few of them', async () => {
    const comparedAmong = async (runs: number): Promise<number> => {
      const [runKeys, keys] = [20, runs * 20]
      const pages = Array.from({ length: runs }, (_, run) =>
        Array.from({ length: runKeys }, (_, i) => String((run + i * runs) % keys).padStart(8, '0')),
      )
      let looks = 0
      const partsOf = (key: string): readonly string[] =>
        ({
          get 0() {
            looks += 1
            return key
          },
          length: 1,
        }) as unknown as readonly string[]
      let found = 0
      for await (const _ of sortedKeys(each(pages), partsOf, runKeys)) found += 1
      expect(found).toBe(keys)
      return looks / keys
    }
    const [few, many] = [await comparedAmong(8), await comparedAmong(256)]
    expect(many / few).toBeLessThan(4)
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
