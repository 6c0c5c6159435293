import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseRedisAddress } from '../../src/store/redis/address.ts'
import { openRedisArchive } from '../../src/store/redis/archive.ts'
import { openRedisRestore } from '../../src/store/redis/restore.ts'
import { openRedisStore } from '../../src/store/redis/store.ts'
import { backupOf, restoreFrom } from '../backup/file-of.ts'
import { type Servers, startCluster, startSentinels } from '../redis/topologies.ts'
import { commitOf } from './commit-of.ts'
import { Places } from './places.ts'

/** Partitions of a cluster lie on several servers; a backup holds them all. */

const places = new Places()
let cluster: Servers
let sentinels: Servers

beforeAll(async () => {
  ;[cluster, sentinels] = await Promise.all([startCluster(), startSentinels()])
})
afterAll(async () => {
  await cluster.dispose()
  await sentinels.dispose()
  await places.dispose()
})

describe('a backup of a cluster', () => {
  it('contains the partitions of every server, and restores to one server and to a cluster', async () => {
    const address = parseRedisAddress(cluster.url)
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
    const sizes = await Promise.all(cluster.servers.map((node) => node.ask('DBSIZE')))
    expect(sizes.every((size) => Number(size) > 0)).toBe(true)

    const backup = await backupOf(await openRedisArchive(options))
    expect(backup.match(/"partition":"tenant\d+"}\n/g)).toHaveLength(20)
    const embedded = places.embedded()
    await restoreFrom(backup, await embedded.restore())
    expect(await backupOf(await embedded.archive())).toBe(backup)

    await expect(openRedisRestore(options)).rejects.toThrow('already')
    for (const node of cluster.servers) await node.ask('FLUSHALL')
    const restore = await openRedisRestore(options)
    await expect(openRedisStore(options)).rejects.toThrow('under way')
    await restoreFrom(backup, restore)
    expect(await backupOf(await openRedisArchive(options))).toBe(backup)
    const again = await openRedisStore(options)
    expect(await again.get('tenant7', 't', 'i')).toMatchObject({ body: 'tenant7' })
    expect(await again.epoch('tenant0')).not.toBe(before)
    await again.close()
  })

  it("restores behind sentinels, with the replica's confirmation before the store can open", async () => {
    const from = places.embedded()
    const store = await from.open()
    await store.commit(
      'p',
      commitOf(store, { events: ['e'], writes: [{ op: 'put', type: 't', id: 'i', body: 'b' }] }),
    )
    await store.close()
    const backup = await backupOf(await from.archive())
    const options = { address: parseRedisAddress(sentinels.url), replicas: 1 }
    await restoreFrom(backup, await openRedisRestore(options))
    expect(await backupOf(await openRedisArchive(options))).toBe(backup)
    for (const server of sentinels.servers) expect(await server.ask('HGET', 'cs:{p}:h', 'n')).toBe('1')
    const tooMany = { ...options, replicas: 2, callMs: 100 }
    for (const server of sentinels.servers) await server.ask('FLUSHALL').catch(() => undefined)
    await expect(restoreFrom(backup, await openRedisRestore(tooMany))).rejects.toThrow('did not confirm')
  })
})
