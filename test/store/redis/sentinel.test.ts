import { afterAll, beforeAll } from 'vitest'
import { parseRedisAddress } from '../../../src/store/redis/address.ts'
import { openRedisStore } from '../../../src/store/redis/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { type Sentinels, startSentinels } from '../../redis/topologies.ts'
import { openedEmpty } from '../../redis/opened.ts'
import { storeConformance } from '../conformance.ts'

let redis: Sentinels
beforeAll(async () => {
  redis = await startSentinels({ replicas: 1 })
})
afterAll(() => redis.dispose())

const open = (): Promise<Store> => openRedisStore({ address: parseRedisAddress(redis.url), replicas: 1 })

storeConformance('redis behind sentinels, each commit confirmed by a replica', () =>
  openedEmpty(async () => (await redis.primary()).ask('FLUSHALL'), open),
)
