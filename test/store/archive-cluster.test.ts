import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseRedisAddress } from '../../src/store/redis-address.ts'
import { openRedisArchive } from '../../src/store/redis-archive.ts'
import { openRedisRestore } from '../../src/store/redis-restore.ts'
import { openRedisStore } from '../../src/store/redis.ts'
import { backupOf, restoreFrom } from '../backup/file-of.ts'
import { type RedisServer, startRedis } from '../redis/server.ts'
import { commitOf } from './commit-of.ts'
import { Places } from './places.ts'

/** Partitions of a cluster lie on several servers; a backup holds them all. */

const places = new Places()
let nodes: RedisServer[] = []
const SLOTS = [0, 5_461, 10_923, 16_384] as const

beforeAll(async () => {
  nodes = await Promise.all([0, 1, 2].map(() => startRedis({ config: { 'cluster-enabled': 'yes' } })))
  for (const [i, node] of nodes.entries()) {
    await node.ask('CLUSTER', 'ADDSLOTSRANGE', String(SLOTS[i]), String((SLOTS[i + 1] ?? 0) - 1))
    await node.ask('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1))
    await nodes[0]?.ask('CLUSTER', 'MEET', '127.0.0.1', String(node.port))
  }
  for (const node of nodes)
    while (!/cluster_state:ok[^]*cluster_known_nodes:3/.test(await node.ask('CLUSTER', 'INFO')))
      await new Promise((resolve) => setTimeout(resolve, 50))
})
afterAll(async () => {
  for (const node of nodes) await node.dispose()
  await places.dispose()
})

describe('a backup of a cluster', () => {
  it('holds the partitions of every server, and comes back on one, and on a cluster again', async () => {
    const address = parseRedisAddress(
      `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    )
    const options = { address, accept: ['unconfirmed-failover'] as const }
    const store = await openRedisStore(options)
    const partitions = Array.from({ length: 20 }, (_, i) => `tenant${i}`)
    for (const partition of partitions) {
      const writes = [
        { op: 'put', type: 't', id: 'i', body: partition },
        { op: 'index', index: 'x', member: 'm', to: 1 },
      ] as const
      await store.commit(partition, commitOf(store, { writes, events: ['e'] }))
    }
    const before = await store.epoch('tenant0')
    await store.close()
    const sizes = await Promise.all(nodes.map((node) => node.ask('DBSIZE')))
    expect(sizes.every((size) => Number(size) > 0)).toBe(true)

    const backup = await backupOf(await openRedisArchive(options))
    expect(backup.match(/"partition":"tenant\d+"}\n/g)).toHaveLength(20)
    const embedded = places.embedded()
    await restoreFrom(backup, await embedded.restore())
    expect(await backupOf(await embedded.archive())).toBe(backup)

    await expect(openRedisRestore(options)).rejects.toThrow('already')
    for (const node of nodes) await node.ask('FLUSHALL')
    const restore = await openRedisRestore(options)
    await expect(openRedisStore(options)).rejects.toThrow('under way')
    await restoreFrom(backup, restore)
    expect(await backupOf(await openRedisArchive(options))).toBe(backup)
    const again = await openRedisStore(options)
    expect(await again.get('tenant7', 't', 'i')).toMatchObject({ body: 'tenant7' })
    expect(await again.epoch('tenant0')).not.toBe(before)
    await again.close()
  })
})
