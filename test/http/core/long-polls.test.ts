import { EventEmitter } from 'node:events'
import type { FastifyRequest } from 'fastify'
import { describe, expect, it, vi } from 'vitest'
import { createWaits, type Held } from '../../../src/http/core/long-polls.ts'

/** As much of a request as a wait looks at: whether its connection is still there. */
const request = (destroyed = false): FastifyRequest =>
  ({ raw: { socket: Object.assign(new EventEmitter(), { destroyed }) } }) as never

const crowd = (waits: ReturnType<typeof createWaits>, sender: string, count: number): Held[] => {
  const [tenant = '', id = ''] = sender.split('/')
  return Array.from({ length: count }, () => waits.holdPoll(request(), 50, { tenant, id })).filter(
    (held) => held !== undefined,
  )
}

describe('polls that the gateway holds', () => {
  it('held polls are at most 7,500 of one tenant and 5,625 of one agent, with room for others of both', () => {
    const waits = createWaits()
    expect(crowd(waits, 'acme/greedy', 8_000)).toHaveLength(5_625)
    expect(crowd(waits, 'acme/modest', 3_000)).toHaveLength(1_406)
    expect(crowd(waits, 'acme/late', 1)).toHaveLength(1)
    expect(waits.held().polls).toBeLessThanOrEqual(7_500)
    expect(crowd(waits, 'globex/bot', 8_000).length).toBeGreaterThan(1_000)
  })

  it('held polls make room again once when they end', () => {
    const waits = createWaits()
    const [first] = crowd(waits, 'acme/greedy', 5_626)
    first?.release()
    first?.release()
    expect(crowd(waits, 'acme/greedy', 2)).toHaveLength(1)
    expect(waits.held()).toEqual({ polls: 5_625, streams: 0 })
  })

  it('held polls are counted apart from streams', () => {
    const waits = createWaits()
    const stream = waits.holdStream(request())
    expect(crowd(waits, 'acme/greedy', 1)).toHaveLength(1)
    expect(waits.held()).toEqual({ polls: 1, streams: 1 })
    stream.release()
    expect(waits.held()).toEqual({ polls: 1, streams: 0 })
  })

  it("held polls end after their time, however slowly the store's clock runs; streams do not", () => {
    vi.useFakeTimers()
    try {
      const waits = createWaits()
      const [held, released] = crowd(waits, 'acme/agent', 2)
      const stream = waits.holdStream(request())
      released?.release()
      vi.advanceTimersByTime(49_999)
      expect(held?.signal.aborted).toBe(false)
      vi.advanceTimersByTime(1)
      expect([held, released, stream].map((one) => one?.signal.aborted)).toEqual([true, false, false])
    } finally {
      vi.useRealTimers()
    }
  })

  it('held polls end when their caller disconnects, also before the wait; after an answer they stop listening', () => {
    const waits = createWaits()
    const [left, gone, answered] = [request(), request(true), request()]
    const held = waits.holdPoll(left, 50, { tenant: 'acme', id: 'agent' })
    left.raw.socket.emit('close')
    const late = waits.holdStream(gone)
    expect([held?.signal.aborted, late.signal.aborted]).toEqual([true, true])
    waits.holdPoll(answered, 50, { tenant: 'acme', id: 'agent' })?.release()
    expect(answered.raw.socket.listenerCount('close')).toBe(0)
  })

  it('all held polls end with the gateway, and later ones end at once', () => {
    const waits = createWaits()
    const [before] = crowd(waits, 'acme/agent', 1)
    waits.endAll()
    const [after] = crowd(waits, 'acme/agent', 1)
    expect([before?.signal.aborted, after?.signal.aborted]).toEqual([true, true])
  })
})
