import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FairQueue, PATIENCE, type Waiting } from '../../../src/http/admission/lane.ts'

const { BURST_MS, OVERLOAD_MS } = PATIENCE
const always = (): boolean => true

/** A queue with these items of each tenant, all of the same moment. */
function queueOf(lines: Record<string, readonly string[]>, at = 0): FairQueue<string> {
  const queue = new FairQueue<string>()
  for (const [tenant, items] of Object.entries(lines)) for (const item of items) queue.add(tenant, item, at)
  return queue
}

const drain = (queue: FairQueue<string>, now = 0, perMs?: number): (string | undefined)[] =>
  Array.from({ length: queue.size }, () => queue.next(now, perMs, always))

describe('the order of turns', () => {
  it('is first come, first served within a tenant, and tenants take turns', () => {
    const queue = queueOf({ a: ['a1', 'a2', 'a3', 'a4'], b: ['b1'], c: ['c1', 'c2'] })
    expect(drain(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3', 'a4'])
    expect(queue.next(0, undefined, always)).toBeUndefined()
  })

  it('a request that does not fit keeps its turn, without blocking others', () => {
    const queue = queueOf({ a: ['a1', 'a2'], b: ['b1'] })
    expect(queue.next(0, undefined, (item) => item !== 'a1')).toBe('b1')
    expect(queue.next(0, undefined, (item) => item !== 'a1')).toBeUndefined()
    expect(drain(queue)).toEqual(['a1', 'a2'])
  })

  it('a request that had a turn before is the first of its tenant', () => {
    const queue = queueOf({ a: ['a1', 'a2'] })
    queue.add('a', 'a0', 0, true)
    expect(drain(queue)).toEqual(['a0', 'a1', 'a2'])
  })

  it('a request that was removed leaves the queue from any position', () => {
    const queue = new FairQueue<string>()
    const all = ['a1', 'a2', 'a3', 'a4'].map((item) => queue.add('a', item, 0)) as Waiting<string>[]
    for (const i of [1, 0, 3]) queue.remove(all[i] as Waiting<string>)
    expect([queue.size, drain(queue)]).toEqual([1, ['a3']])
  })
})

describe('patience', () => {
  it('is long in a burst: every request waits, and the first is served first', () => {
    const queue = queueOf({ a: ['a1', 'a2'] })
    expect(queue.expired(BURST_MS)).toBeUndefined()
    expect(queue.next(BURST_MS, 0.0001, always)).toBe('a1')
  })

  it('is short in a queue that has been busy for the length of a burst', () => {
    const queue = queueOf({ a: ['a1'] })
    queue.add('a', 'a2', BURST_MS - OVERLOAD_MS + 1)
    expect(queue.expired(BURST_MS + 1)).toBe('a1')
    expect(queue.expired(BURST_MS + 1)).toBeUndefined()
    expect(queue.expired(BURST_MS + 2)).toBe('a2')
    expect(queue.size).toBe(0)
  })

  it('is long again for an empty queue, and for a new tenant', () => {
    const queue = queueOf({ a: ['a1'] })
    drain(queue)
    queue.add('a', 'a2', BURST_MS)
    queue.add('b', 'b1', BURST_MS)
    expect(queue.expired(2 * BURST_MS)).toBeUndefined()
  })

  it('an overload serves the newest first while not all can be in time, and otherwise the oldest', () => {
    const now = BURST_MS + 1
    const items = Array.from({ length: 10 }, (_, i) => `a${i}`)
    const perMs = 5 / OVERLOAD_MS
    const served = drain(queueOf({ a: items }), now, perMs)
    expect(served).toEqual(['a9', 'a8', 'a7', 'a6', 'a5', 'a0', 'a1', 'a2', 'a3', 'a4'])
    expect(drain(queueOf({ a: items }), now, undefined)).toEqual(items)
  })

  it('predicts which requests would wait too long at the present rate', () => {
    const queue = queueOf({ a: ['a1', 'a2'], b: ['b1'] })
    const perMs = 3.9 / BURST_MS
    expect(['a', 'b', 'c'].map((tenant) => queue.isTooLong(tenant, 0, perMs))).toEqual([true, false, false])
    expect(queue.isTooLong('a', 0, undefined)).toBe(false)
    // half of the time that the line has is over; and later each waits for a short time at least
    expect(['a', 'b'].map((tenant) => queue.isTooLong(tenant, BURST_MS / 2, perMs))).toEqual([true, true])
    expect(queue.isTooLong('b', BURST_MS, 2.1 / OVERLOAD_MS)).toBe(false)
    expect(queue.isTooLong('b', BURST_MS, 1.9 / OVERLOAD_MS)).toBe(true)
  })
})

it('contains every request that was added and neither served nor removed', () => {
  const step = fc.record({ what: fc.nat(5), tenant: fc.constantFrom('a', 'b', 'c'), pick: fc.nat(20) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const queue = new FairQueue<number>()
      const held = new Map<number, Waiting<number>>()
      steps.forEach(({ what, tenant, pick }, now) => {
        if (what <= 2) held.set(now, queue.add(tenant, now, now, what === 0))
        else if (what === 3) {
          const [id, waiting] = [...held][pick % Math.max(1, held.size)] ?? []
          if (waiting) queue.remove(waiting)
          if (id !== undefined) held.delete(id)
        } else {
          const item = what === 4 ? queue.next(now * 100, 0.01, always) : queue.expired(now * 100)
          if (item !== undefined) expect(held.delete(item)).toBe(true)
        }
        expect(queue.size).toBe(held.size)
      })
      const rest = Array.from({ length: held.size }, () => queue.next(0, undefined, always))
      expect(new Set(rest)).toEqual(new Set(held.keys()))
    }),
  )
})
