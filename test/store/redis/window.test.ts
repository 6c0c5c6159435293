import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { amountIn, charged, type LimitWindow, spanOf } from '../../../src/domain/limit-window.ts'
import { parseRedisAddress } from '../../../src/store/redis/address.ts'
import { openRedisStore } from '../../../src/store/redis/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { type RedisServer, startRedis } from '../../redis/server.ts'
import { commitOf } from '../commit-of.ts'
import { runs } from '../../runs.ts'

/*
 * Two places define the ring of a limit: src/domain/limit-window.ts and the commit script. Here both get the same
 * charges and guards at the same times, for windows of every length. They must agree on every answer.
 */
const START = 1_700_000_000_000
let server: RedisServer
let store: Store
let now = START
beforeAll(async () => {
  server = await startRedis({ config: { appendonly: 'no' } })
  const clock = { wall: () => now, monotonic: () => now }
  store = await openRedisStore({ address: parseRedisAddress(server.url), durability: 'async', clock })
})
afterAll(async () => {
  await store.close()
  await server.dispose()
})

const windowMs = fc.constantFrom(1, 23, 24, 25, 1_000, 86_400_000, 2_678_400_000)
const step = fc.record({
  wait: fc.oneof(fc.constant(0), fc.nat(50), fc.nat(100_000_000)),
  windowMs,
  guarded: fc.boolean(),
  ago: fc.oneof(fc.constant(0), fc.nat(3_000), fc.nat(3_000_000_000), fc.integer({ min: -5_000, max: 0 })),
  amount: fc.oneof(fc.nat(50), fc.integer({ min: -50, max: -1 }), fc.constant(Number.MAX_SAFE_INTEGER)),
  atMost: fc.oneof(fc.nat(200), fc.constant(Number.MAX_SAFE_INTEGER)),
})

describe('the ring of a limit in the commit script', () => {
  it('answers as the domain does, over 400 random histories of 25 steps', async () => {
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const limit = `l${run++}`
        let window: LimitWindow | undefined
        for (const { wait, windowMs: length, guarded, ago, amount, atMost } of steps) {
          now += wait
          const at = now - ago
          const asked = Math.max(0, amount)
          const guards = guarded ? [{ limit, windowMs: length, amount: asked, atMost }] : []
          const writes = [{ op: 'charge', limit, windowMs: length, at, amount } as const]
          const room = !guarded || amountIn(window, length, now) <= atMost - asked
          expect((await store.commit('t', commitOf(store, { guards, writes }))).ok).toBe(room)
          if (!room) continue
          const span = guarded ? length : Math.max(length, spanOf(window))
          window = charged(window, { windowMs: span, at, amount }, now)
        }
        for (const length of [1, 24, 1_000, 86_400_000, 2_678_400_000]) {
          const held = amountIn(window, length, now)
          expect(await store.charged('t', limit, length)).toBe(held)
          expect(await fits(limit, length, held)).toBe(true)
          if (held > 0) expect(await fits(limit, length, held - 1)).toBe(false)
        }
      }),
      { numRuns: runs(400) },
    )
  })
})

async function fits(limit: string, length: number, atMost: number): Promise<boolean> {
  const guards = [{ limit, windowMs: length, amount: 0, atMost }]
  return (await store.commit('t', commitOf(store, { guards }))).ok
}
