import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { redisOptions } from '../../../src/app/store.ts'
import { loadConfig } from '../../../src/settings/config.ts'
import { parseRedisAddress } from '../../../src/store/redis/address.ts'
import { keySpace } from '../../../src/store/redis/keys.ts'
import { slotOf } from '../../../src/store/redis/slots.ts'
import { openRedisStore } from '../../../src/store/redis/store.ts'
import type { RedisOptions } from '../../../src/store/redis/connect.ts'
import type { Store } from '../../../src/store/store.ts'
import { type RedisServer, startRedis } from '../../redis/server.ts'
import { eventually, startCluster, startSentinels } from '../../redis/topologies.ts'
import { commitOf } from '../commit-of.ts'

/** Connections of the store: it replaces lost connections, not too often, and leaves no connection behind. */
const endings: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function open(url: string, options: Partial<RedisOptions> = {}): Promise<Store> {
  const store = await openRedisStore({ address: parseRedisAddress(url), callMs: 1_000, ...options })
  endings.push(() => store.close())
  return store
}

/** Waits for the record in rounds, as polls do, until the store is closed. */
async function watching(store: Store, partition: string, id: string): Promise<void> {
  for (let open = true; open;)
    await store
      .watch(partition, AbortSignal.timeout(1_000), { type: 'thread', id })
      .catch(() => (open = false))
}

const listens = (server: RedisServer, channel: string): Promise<void> =>
  eventually(async () => (await server.ask('PUBSUB', 'SHARDNUMSUB', channel)).endsWith('1'))

async function count(server: RedisServer, name: string): Promise<number> {
  return Number(new RegExp(`${name}:(\\d+)`).exec(await server.ask('INFO', 'stats'))?.[1])
}

describe('a cluster node that loses a slot during a watch', () => {
  it('serves its other slots again after lost connections, and the watch follows the slot', async () => {
    const cluster = await startCluster(3)
    endings.push(() => cluster.dispose())
    const store = await open(cluster.url, { accept: ['unconfirmed-failover'] })
    const nodeOf = (partition: string): number => Math.floor(slotOf(keySpace().of(partition).head) / 5_462)
    const left = nodeOf('moving')
    const staying = Array.from({ length: 99 }, (_, i) => `t${i}`).find((name) => nodeOf(name) === left) ?? ''
    const [owner, target] = [left, (left + 1) % 3].map((i) => cluster.servers[i]) as [
      RedisServer,
      RedisServer,
    ]
    const channel = keySpace().of('moving').recordChannel('thread', 'x')
    void watching(store, 'moving', 'x')
    await listens(owner, channel)
    const id = (await target.ask('CLUSTER', 'MYID')).split('\n').at(-1) as string
    for (const server of [target, owner])
      await server.ask('CLUSTER', 'SETSLOT', String(slotOf(channel)), 'NODE', id)
    await store.get('moving', 'thread', 'x')
    await listens(target, channel)
    for (const type of ['normal', 'pubsub']) await owner.ask('CLIENT', 'KILL', 'TYPE', type)
    await eventually(async () => (await store.get(staying, 'thread', 'x')) === undefined)
    // longer than the pause before a new connection: it stays
    for (let i = 0; i < 20; i++) {
      expect(await store.get(staying, 'thread', 'x')).toBeUndefined()
      await pause(20)
    }
  })
})

describe('a password in a file', () => {
  it('is read for each new connection, also after it could not be read', async () => {
    const server = await startRedis()
    endings.push(() => server.dispose())
    const directory = mkdtempSync(join(tmpdir(), 'countersign-password-'))
    endings.push(async () => rmSync(directory, { recursive: true }))
    const file = join(directory, 'password')
    writeFileSync(file, 'old\n')
    await server.ask('ACL', 'SETUSER', 'gate', 'on', '>old', '~*', '&*', '+@all')
    const { config } = loadConfig({
      args: ['--store', server.url, '--store-username', 'gate'],
      env: { COUNTERSIGN_STORE_PASSWORD_FILE: file },
      parseYaml: () => ({}),
    })
    const store = await openRedisStore({ ...redisOptions(config), callMs: 1_000 })
    endings.push(() => store.close())
    const drop = () => server.ask('CLIENT', 'KILL', 'USER', 'gate')
    const works = () =>
      eventually(async () => (await store.get('t', 'thread', 'a').catch(() => 'no')) === undefined)
    for (const type of ['>new', '<old']) await server.ask('ACL', 'SETUSER', 'gate', type)
    await works()
    writeFileSync(file, 'new\n')
    await drop()
    await works()
    rmSync(file)
    await drop()
    await expect(store.get('t', 'thread', 'a')).rejects.toThrow()
    writeFileSync(file, 'new')
    await works()
  })
})

describe('a server that accepts no more connections', () => {
  it('is asked for a message connection from time to time, while commits continue', async () => {
    const server = await startRedis()
    endings.push(() => server.dispose())
    const store = await open(server.url)
    for (let i = 0; i < 20; i++) void watching(store, 't', `${i}`)
    const channel = keySpace().of('t').recordChannel('thread', '19')
    await listens(server, channel)
    const admin = connect(server.port, '127.0.0.1')
    endings.push(async () => void admin.destroy())
    // itself, and the connection for commits
    admin.write('CONFIG SET maxclients 2\r\nCLIENT KILL TYPE pubsub\r\n')
    await pause(1_500)
    for (let i = 0; i < 20; i++)
      expect(await store.commit('t', commitOf(store, {}))).toMatchObject({ ok: true })
    admin.write('CONFIG SET maxclients 100\r\n')
    await listens(server, channel)
    const rejected = await count(server, 'rejected_connections')
    expect(rejected).toBeGreaterThan(0)
    expect(rejected).toBeLessThan(50)
  })
})

describe('a store that is closed', () => {
  it('leaves no connection to a sentinel, even when another one is frozen', async () => {
    const redis = await startSentinels()
    endings.push(() => redis.dispose())
    const [frozen, ...others] = redis.sentinels as [RedisServer, ...RedisServer[]]
    frozen.signal('SIGSTOP')
    const asking = async (): Promise<boolean> => {
      const lists = await Promise.all(others.map((server) => server.ask('CLIENT', 'LIST')))
      return lists.some((list) => list.includes('cmd=sentinel|master'))
    }
    const store = await open(redis.url, { replicas: 1 })
    expect(await asking()).toBe(true)
    await store.close()
    await eventually(async () => !(await asking()))
    frozen.signal('SIGCONT')
  })
})
