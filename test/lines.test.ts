import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { linesOf } from '../src/system/lines.ts'
import { inPieces } from './backup/file-of.ts'

describe('lines', () => {
  it('lines are the same for every split of the bytes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: fc.constantFrom('a', '\n', '\r', '\u2028', 'é') }),
        fc.integer({ min: 1, max: 9 }),
        async (text, size) => {
          const found: string[] = []
          for await (const line of linesOf(inPieces(text, size), 1_000))
            found.push(line.bytes.toString() + (line.ended ? '\n' : ''))
          expect(found.join('')).toBe(text)
          expect(found).toHaveLength(text.split('\n').length - (text.endsWith('\n') || text === '' ? 1 : 0))
        },
      ),
    )
  })

  it('lines are read up to the longest length, and a longer one is refused', async () => {
    const read = async (text: string, size: number): Promise<string[]> => {
      const found: string[] = []
      const all = async (): Promise<void> => {
        for await (const { bytes } of linesOf(inPieces(text, size), 4)) found.push(bytes.toString())
      }
      await all().catch((error: Error) => found.push(error.name))
      return found
    }
    for (const size of [1, 3, 100]) {
      expect(await read('abcd\n\nabcd', size)).toEqual(['abcd', '', 'abcd'])
      expect(await read('abcd\nabcde\na', size)).toEqual(['abcd', 'LongLine'])
      expect(await read('abcde', size)).toEqual(['LongLine'])
    }
  })
})
