// @first
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { parseRedisAddress } from '../../../src/store/redis/address.ts'
import { keySpace } from '../../../src/store/redis/keys.ts'
import { slotOf } from '../../../src/store/redis/slots.ts'
import { openRedisStore } from '../../../src/store/redis/store.ts'
import { type Commit, type Store, StoreIndeterminate } from '../../../src/store/store.ts'
import type { RedisServer } from '../../redis/server.ts'
import { eventually, type Servers, startCluster } from '../../redis/topologies.ts'
import { commitOf } from '../commit-of.ts'
import { openedEmpty } from '../../redis/opened.ts'
import { storeConformance } from '../conformance.ts'

let cluster: Servers
beforeAll(async () => {
  cluster = await startCluster(3)
})
afterAll(() => cluster.dispose())

const open = (): Promise<Store> =>
  openRedisStore({ address: parseRedisAddress(cluster.url), accept: ['unconfirmed-failover'] })

storeConformance('redis cluster of three', () =>
  openedEmpty(() => Promise.all(cluster.servers.map((one) => one.ask('FLUSHALL'))), open),
)

describe('a cluster', () => {
  it('agrees with the server on the slot of every key', async () => {
    const [server] = cluster.servers as [RedisServer]
    for (const partition of ['', 't', 'acme', 'a{b}c', '_system', 'ü', '\ud800'])
      for (const key of [keySpace().of(partition).head, keySpace().of(partition).record('thread', 'x{y}')])
        expect(await server.ask('CLUSTER', 'KEYSLOT', key)).toBe(String(slotOf(key)))
  })

  it('spreads partitions over its nodes', async () => {
    const store = await open()
    for (let i = 0; i < 30; i++) await store.commit(`tenant${i}`, commitOf(store, { events: ['e'] }))
    for (const server of cluster.servers) expect(Number(await server.ask('DBSIZE'))).toBeGreaterThan(0)
    await store.close()
  })

  it('moves a slot under load without a failure, a loss or a duplicate', async () => {
    const store = await open()
    const slot = slotOf(keySpace().of('moving').head)
    const owner = await ownerOf(slot)
    const target = cluster.servers.find((server) => server !== owner) as RedisServer
    const acknowledged: string[] = []
    let moving = true
    const load = Array.from({ length: 8 }, async (_, caller) => {
      for (let i = 0; moving || i < 40; i++) {
        const body = `${caller}.${i}`
        const answer = await store.commit(
          'moving',
          commitOf(store, { events: [body], writes: [{ op: 'put', type: 'r', id: body, body }] }),
        )
        if (answer.ok) acknowledged.push(body)
      }
    })
    await eventually(async () => acknowledged.length > 200)
    await migrate(slot, owner, target)
    moving = false
    await Promise.all(load)
    const bodies = (await allEvents(store, 'moving')).map(({ body }) => body)
    expect(bodies.toSorted()).toEqual(acknowledged.toSorted())
    expect(await ownerOf(slot)).toBe(target)
    await store.close()
  })
})

describe('a slot that moves while replicas confirm', () => {
  it('is confirmed on the node of its keys, and delays no other tenant of that node', async () => {
    const own = await startCluster(2, 2)
    onTestFinished(() => own.dispose())
    const store = await openRedisStore({ address: parseRedisAddress(own.url), replicas: 1 })
    const commit = (tenant: string): Promise<unknown> =>
      store.commit(tenant, commitOf(store, { events: ['e'] })).catch((error: unknown) => error)
    const ok = { ok: true, numbers: [expect.any(Number)] }
    const nodeOf = (tenant: string): number => Math.floor(slotOf(keySpace().of(tenant).head) / 8_192)
    const neighbours = Array.from({ length: 99 }, (_, i) => `t${i}`).filter(
      (tenant) => nodeOf(tenant) === nodeOf('moving'),
    )
    const tenants = ['moving', ...neighbours.slice(0, 4)]
    for (const tenant of tenants)
      await eventually(async () => ((await commit(tenant)) as { ok?: boolean }).ok === true)
    const [from, to] = [nodeOf('moving'), 1 - nodeOf('moving')].map((i) => own.servers[i]) as [
      RedisServer,
      RedisServer,
    ]
    const slot = slotOf(keySpace().of('moving').head)
    await beginMove(slot, from, to)
    await moveKeys(slot, from, to)
    for (let i = 0; i < 10; i++) expect(await Promise.all(tenants.map(commit))).toEqual(tenants.map(() => ok))
    await store.close()
  })
})

describe('a killed node of a cluster with replicas', () => {
  it('is replaced: confirmed writes are kept, and proofs of the old epoch are void', async () => {
    const own = await startCluster(3, 3, { replacedAfterMs: 1_000 })
    onTestFinished(() => own.dispose())
    const store = await openRedisStore({ address: parseRedisAddress(own.url), replicas: 1, callMs: 1_000 })
    const commit = (parts: Partial<Commit>): Promise<unknown> =>
      store
        .commit('t', commitOf(store, { deadline: store.now() + 800, ...parts }))
        .catch((error: unknown) => error)
    const commits = async (parts: Partial<Commit>): Promise<boolean> =>
      ((await commit(parts)) as { ok?: boolean }).ok === true
    const confirmed: string[] = []
    for (let i = 0; i < 50; i++) if (await commits({ events: [`${i}`] })) confirmed.push(`${i}`)
    const epoch = await store.epoch('t')
    const slot = slotOf(keySpace().of('t').head)
    const other = await openRedisStore({ address: parseRedisAddress(own.url), replicas: 1, callMs: 1_000 })
    const record = { type: 'thread', id: 'watched' }
    let woken = 0
    const watching = async (): Promise<void> => {
      for (; woken < 100; woken++) await other.watch('t', AbortSignal.timeout(60_000), record)
    }
    void watching()
    const owner = await ownerOf(slot, own.servers.slice(0, 3))
    await owner.kill()
    await eventually(async () => (await store.epoch('t')) !== epoch)
    await eventually(async () => (await commit({ events: ['alone'] })) instanceof StoreIndeterminate)
    expect(await commits({ events: ['alone'] })).toBe(false)
    await owner.start()
    await eventually(() => commits({ events: ['again'] }))
    const bodies = new Set((await allEvents(store, 't')).map(({ body }) => body))
    expect(confirmed.filter((body) => !bodies.has(body))).toEqual([])
    const before = woken
    await eventually(() => commits({ writes: [{ op: 'put', ...record, body: 'x' }] }))
    await eventually(async () => woken > before)
    woken = 100
    await other.close()
    await store.close()
  })
})

async function allEvents(store: Store, partition: string): ReturnType<Store['events']> {
  return store.events(partition, 0, 100_000)
}

async function ownerOf(slot: number, servers = cluster.servers): Promise<RedisServer> {
  for (const server of servers) {
    const own = (await server.ask('CLUSTER', 'NODES')).split('\n').find((line) => line.includes('myself'))
    const ranges = own?.split(' ').slice(8) ?? []
    if (ranges.some((range) => within(slot, range))) return server
  }
  throw new Error(`nobody has slot ${slot}`)
}

function within(slot: number, range: string): boolean {
  const [from = '', to = from] = range.split('-')
  return Number(from) <= slot && slot <= Number(to)
}

/** Moves a slot as redis-cli does: importing, migrating, keys in small steps, then a notice to the new owner. */
async function migrate(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
  const toId = await beginMove(slot, from, to)
  await moveKeys(slot, from, to)
  await to.ask('CLUSTER', 'SETSLOT', String(slot), 'NODE', toId)
  await from.ask('CLUSTER', 'SETSLOT', String(slot), 'NODE', toId)
}

/** Returns the id of the new owner. */
async function beginMove(slot: number, from: RedisServer, to: RedisServer): Promise<string> {
  const [fromId = '', toId = ''] = await Promise.all(
    [from, to].map(async (one) => (await one.ask('CLUSTER', 'MYID')).split('\n').at(-1) ?? ''),
  )
  await to.ask('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', fromId)
  await from.ask('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', toId)
  return toId
}

async function moveKeys(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
  for (;;) {
    const keys = (await from.ask('CLUSTER', 'GETKEYSINSLOT', String(slot), '10'))
      .split('\n')
      .filter((line) => line.startsWith('cs:'))
    if (keys.length === 0) break
    await from.ask('MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'KEYS', ...keys)
  }
}
