import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LIMITS } from '../../../src/contract/limits.ts'
import { createTokenTurns } from '../../../src/http/access/sign-in-rate.ts'

/** Answers of flows that wait until the provider may be asked. */

let free = 0
const rates = { take: () => (free-- > 0 ? undefined : 500) }
const response = (): ServerResponse => new EventEmitter() as ServerResponse

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('answers of begun flows', () => {
  it('wait for a token request, one of each address after the other', async () => {
    free = 1
    const turns = createTokenTurns(rates)
    const order: string[] = []
    const wait = (address: string) => turns(address, response()).then(() => order.push(address))
    const all = ['a', 'a', 'a', 'a', 'b', 'b', 'c'].map(wait)
    await all[0]
    expect(order).toEqual(['a'])
    for (let i = 0; i < 3; i++) {
      free = 2
      await vi.advanceTimersByTimeAsync(500)
    }
    await Promise.all(all)
    expect(order).toEqual(['a', 'a', 'b', 'c', 'a', 'b', 'a'])
  })

  it('lose their place when the browser leaves, and spend no request', async () => {
    free = 0
    const turns = createTokenTurns(rates)
    const gone = response()
    const left = turns('a', gone)
    const stays = turns('b', response())
    gone.emit('close')
    await expect(left).rejects.toThrow('too many attempts')
    free = 1
    await vi.advanceTimersByTimeAsync(500)
    await stays
    expect(free).toBe(0)
  })

  it('are refused beyond those that one address may begin in a minute, for this address only', async () => {
    free = 0
    const turns = createTokenTurns(rates)
    for (let i = 0; i < LIMITS.FLOWS_PER_ADDRESS; i++) void turns('a', response())
    expect(() => turns('a', response())).toThrow('too many attempts')
    free = 2
    const other = turns('b', response())
    await vi.advanceTimersByTimeAsync(500)
    await other
  })
})
