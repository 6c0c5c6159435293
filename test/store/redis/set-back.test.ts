import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parseRedisAddress } from '../../../src/store/redis/address.ts'
import { openRedisStore } from '../../../src/store/redis/store.ts'
import { type CommitResult, type Store, StoreUnavailable } from '../../../src/store/store.ts'
import { type RedisServer, startRedis } from '../../redis/server.ts'
import { commitOf } from '../commit-of.ts'

/** A Redis whose clock was set back: what partitions have seen lies ahead of it. */
const HOUR = 3_600_000
const LEASE = 5_000

let server: RedisServer
let store: Store
beforeAll(async () => {
  server = await startRedis()
})
beforeEach(async () => {
  await server.ask('FLUSHALL')
  store = await openRedisStore({ address: parseRedisAddress(server.url) })
  return () => store.close()
})
afterAll(() => server.dispose())

const seen = (partition: string, time: number): Promise<string> =>
  server.ask('HSET', `cs:{${partition}}:h`, 'v', 'countersign/5', 't', String(time))
const commit = (partition: string, to?: number): Promise<CommitResult> =>
  store.commit(
    partition,
    commitOf(store, {
      deadline: store.now() + 2_000,
      writes: [{ op: 'index', index: 'due', member: 'm', ...(to === undefined ? {} : { to }) }],
    }),
  )
const claim = (partition: string): ReturnType<Store['claimDue']> =>
  store.claimDue(partition, 'due', { now: store.now(), lease: LEASE, limit: 9 })

describe('a partition that has seen a later time', () => {
  it('makes each commit late until the clock catches up, but no commit of another partition', async () => {
    await commit('a')
    await seen('a', store.now() + HOUR)
    expect(await commit('a')).toEqual({ ok: false, reason: 'late' })
    expect((await commit('b')).ok).toBe(true)
    expect(await store.health()).toEqual({ ready: true })
    await seen('a', store.now())
    expect((await commit('a')).ok).toBe(true)
  })

  it('claims due items only once it can record the claim', async () => {
    await commit('a', 1)
    const last = store.now() + HOUR
    await seen('a', last)
    for (let i = 0; i < 3; i++) {
      const refused = await claim('a').catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(StoreUnavailable)
      expect((refused as Error).message).toBe("the store's clock is behind the last write of the partition")
    }
    expect(await store.range('a', 'due', { limit: 9 })).toEqual([{ score: 1, member: 'm' }])
    await seen('a', store.now() + LEASE / 2)
    expect(await claim('a')).toEqual([{ score: 1, member: 'm' }])
  })
})
