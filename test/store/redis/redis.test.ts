import { afterAll, beforeAll, describe, it } from 'vitest'
import { parseRedisAddress } from '../../../src/store/redis/address.ts'
import { openRedisStore } from '../../../src/store/redis/redis.ts'
import type { Store } from '../../../src/store/store.ts'
import { type RedisServer, startRedis } from '../../redis/server.ts'
import { openedEmpty } from '../../redis/opened.ts'
import { storeConformance } from '../conformance.ts'
import { compareWithModel } from '../differential.ts'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.dispose())

async function open(): Promise<Store> {
  return openRedisStore({ address: parseRedisAddress(server.url) })
}

storeConformance('redis', () => openedEmpty(() => server.ask('FLUSHALL'), open))

describe('the redis store against the model', () => {
  it('gives the same answers and holds the same data after 200 random histories of 45 steps', async () => {
    await server.ask('FLUSHALL')
    const store = await open()
    await compareWithModel(store, { runs: 200, steps: 45, inOrder: true })
    await store.close()
  }, 120_000)
})
