import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { createOutboxRoom } from '../../src/gateway/webhooks/byte-semaphore.ts'

describe('the room of the outbox', () => {
  it('is there at once for what fits', async () => {
    const room = createOutboxRoom(10)
    const entered: number[] = []
    const takes = [4, 6].map((size) => room.take('a', size).then(() => entered.push(size)))
    await Promise.all(takes)
    expect(entered).toEqual([4, 6])
  })

  it('is given to one line in the order in which it was asked for, never more than there is, and comes to an end', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 25 }), { maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.array(fc.nat(), { minLength: 30, maxLength: 30 }),
        async (asked, choices) => {
          const room = createOutboxRoom(10)
          const inside: { readonly size: number; readonly leave: () => void }[] = []
          const entered: number[] = []
          asked.forEach((size, i) => {
            void room.take('a', size).then((leave) => {
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
          // and is there as a whole
          await Promise.all([room.take('a', 3), room.take('b', 7)])
        },
      ),
    )
  })

  it('is given to lines in turn: a long one holds up no other', async () => {
    const room = createOutboxRoom(10)
    const entered: string[] = []
    const leaves: (() => void)[] = []
    const ask = (line: string, name: string): void =>
      void room.take(line, 6).then((leave) => {
        entered.push(name)
        leaves.push(leave)
      })
    for (const name of ['a1', 'a2', 'a3', 'a4']) ask('a', name)
    for (const name of ['b1', 'b2']) ask('b', name)
    ask('c', 'c1')
    while (entered.length < 7) {
      await Promise.resolve()
      leaves.pop()?.()
    }
    expect(entered).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
  })
})
