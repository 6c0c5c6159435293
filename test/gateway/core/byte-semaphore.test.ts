import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { createByteSemaphore } from '../../../src/gateway/core/byte-semaphore.ts'

describe('the byte semaphore', () => {
  it('admits a request immediately if it fits', async () => {
    const semaphore = createByteSemaphore(10)
    const entered: number[] = []
    await Promise.all([4, 6].map((size) => semaphore.acquire(size).then(() => entered.push(size))))
    expect(entered).toEqual([4, 6])
  })

  it('admits in order, never beyond its size, and gets all room back', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 25 }), { maxLength: 30 })
    const releases = fc.array(fc.nat(), { minLength: 30, maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(sizes, releases, async (asked, choices) => {
        const semaphore = createByteSemaphore(10)
        const inside: { readonly size: number; readonly leave: () => void }[] = []
        const entered: number[] = []
        asked.forEach((size, i) => {
          void semaphore.acquire(size).then((leave) => {
            entered.push(i)
            inside.push({ size, leave })
          })
        })
        for (const choice of choices.slice(0, asked.length)) {
          await Promise.resolve().then(() => Promise.resolve())
          const taken = inside.reduce((sum, { size }) => sum + size, 0)
          expect(inside.length === 1 || taken <= 10).toBe(true)
          inside.splice(choice % inside.length, 1)[0]?.leave()
        }
        expect(entered).toEqual(asked.map((_, i) => i))
        expect(inside).toEqual([])
        await Promise.all([semaphore.acquire(3), semaphore.acquire(7)])
      }),
    )
  })
})
