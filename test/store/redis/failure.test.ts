import { existsSync, readdirSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { parseRedisAddress } from '../../../src/store/redis/address.ts'
import { openRedisStore } from '../../../src/store/redis/store.ts'
import { type RedisOptions, UnsafeRedis } from '../../../src/store/redis/connect.ts'
import { type Store, StoreIndeterminate, StoreUnavailable } from '../../../src/store/store.ts'
import { within } from '../../../src/store/patience.ts'
import { type RedisServer, type RedisSettings, startRedis } from '../../redis/server.ts'
import { eventually } from '../../redis/topologies.ts'
import { standStill } from '../../stand-still.ts'
import { commitOf } from '../commit-of.ts'

/**
 * Well before the store drops a silent server, which would end the calls, too. bench/redis.mjs measures how close to
 * the deadline they end.
 */
const PATIENCE_MS = 1_000

const endings: (() => Promise<void>)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const end of endings.splice(0).reverse()) await end()
})

async function serve(settings?: RedisSettings): Promise<RedisServer> {
  const server = await startRedis(settings)
  endings.push(() => server.dispose())
  return server
}

async function open(server: RedisServer, options: Partial<RedisOptions> = {}): Promise<Store> {
  const store = await openRedisStore({ address: parseRedisAddress(server.url), callMs: 500, ...options })
  endings.push(() => store.close())
  return store
}

const ready = (store: Store): Promise<void> => eventually(async () => (await store.health()).ready)

const put = (store: Store, id: string, ms = 500): Promise<unknown> =>
  store
    .commit(
      't',
      commitOf(store, {
        deadline: store.now() + ms,
        writes: [{ op: 'put', type: 'thread', id, body: 'x' }],
        events: [id],
      }),
    )
    .catch((error: unknown) => error)

/** Reports whether `work` takes longer than that. After a pause of the process, an arrived answer counts first. */
async function timed<T>(work: Promise<T>): Promise<{ answer: T; late: boolean }> {
  let late = false
  const timer = setTimeout(() => setImmediate(() => setImmediate(() => (late = true))), PATIENCE_MS)
  const answer = await work
  clearTimeout(timer)
  return { answer, late }
}

describe('a gateway that is suspended longer than its calls may take', () => {
  it('reads answers that arrived during the suspension', async () => {
    const server = await serve()
    const store = await open(server, { callMs: 1_500 })
    await put(store, 'before')
    server.signal('SIGSTOP')
    const calls = [
      put(store, 'a', 1_500),
      store.get('t', 'thread', 'b'),
      store.range('t', 'due', { limit: 1 }),
    ]
    // until they are in the socket
    for (let turns = 0; turns < 10; turns++) await turn()
    server.signal('SIGCONT')
    standStill(2_000)
    expect(await Promise.all(calls)).toEqual([{ ok: true, numbers: [2] }, undefined, []])
  })

  it('does not give up a server while it could not listen', async () => {
    let answer: (text: string) => void = () => undefined
    const asked = new Promise<string>((resolve) => (answer = resolve))
    const heard = within(asked, 400)
    standStill(1_000)
    // an answer that arrives after that takes a few turns
    const { port1, port2 } = new MessageChannel()
    port1.once('message', answer)
    port2.postMessage('here')
    expect(await heard).toBe('here')
    port1.close()
  })

  it('accepts an answer that arrived just before the timeout', async () => {
    let answer: (text: string) => void = () => undefined
    const asked = new Promise<string>((resolve) => (answer = resolve))
    const { port1, port2 } = new MessageChannel()
    port1.once('message', answer)
    const { setTimeout: later } = globalThis
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const heard = within(asked, 400)
    // where timers run, before anything is read
    await new Promise((resolve) => later(resolve, 1))
    port2.postMessage('here')
    vi.advanceTimersByTime(400)
    expect(await heard).toBe('here')
    port1.close()
  })

  it('gives up a server that is silent while it listens', async () => {
    await expect(within(new Promise(() => undefined), 40)).rejects.toThrow('no answer within 40 ms')
  })
})

describe('a frozen Redis', () => {
  it('ends every call by its deadline, and expired calls change nothing when it resumes', async () => {
    const server = await serve()
    const store = await open(server)
    await put(store, 'before')
    server.signal('SIGSTOP')
    const signal = new AbortController().signal
    const writes = await Promise.all(
      Array.from({ length: 50 }, (_, i) => timed(put(store, `frozen${i}`, 400))),
    )
    for (const { answer, late } of writes) {
      expect(answer).toBeInstanceOf(StoreIndeterminate)
      expect(late).toBe(false)
    }
    const reads: Promise<unknown>[] = [
      store.get('t', 'thread', 'before'),
      store.range('t', 'x', { limit: 1 }),
      store.epoch('t'),
    ]
    for (const read of reads) await expect(timed(read)).rejects.toBeInstanceOf(StoreUnavailable)
    void store.watch('t', signal)
    await eventually(async () => !(await store.health()).ready)
    server.signal('SIGCONT')
    await ready(store)
    expect((await store.events('t', 0, 99)).map(({ body }) => body)).toEqual(['before'])
    expect(await put(store, 'after')).toEqual({ ok: true, numbers: [2] })
  })
})

describe('a stopped Redis', () => {
  it('refuses at once, is not ready, and recovers soon after a start', async () => {
    const server = await serve()
    const store = await open(server)
    await put(store, 'kept')
    await server.kill()
    await eventually(async () => !(await store.health()).ready)
    const { answer, late } = await timed(put(store, 'refused'))
    expect(answer).toBeInstanceOf(StoreUnavailable)
    expect(late).toBe(false)
    await server.start()
    await ready(store)
    expect(await store.get('t', 'thread', 'kept')).toMatchObject({ body: 'x' })
    expect(await store.get('t', 'thread', 'refused')).toBeUndefined()
  })

  it('reports separately a silent server and a lost connection', async () => {
    const server = await serve()
    const store = await open(server, { callMs: 60_000 })
    server.signal('SIGSTOP')
    await expect(store.get('t', 'thread', 'silent')).rejects.toThrow(
      'redis: the server stopped answering, and the connection was closed',
    )
    server.signal('SIGCONT')
    await ready(store)
    server.signal('SIGSTOP')
    const asked = store.get('t', 'thread', 'ended')
    void server.kill('SIGKILL')
    // unread bytes in the socket make it a reset
    await expect(asked).rejects.toThrow(
      /^redis: (the connection was lost before the answer arrived|read ECONNRESET)$/,
    )
  })

  it('answers each call in progress truly, or with a StoreUnavailable or StoreIndeterminate', async () => {
    const server = await serve()
    const store = await open(server)
    const answers = Array.from({ length: 400 }, (_, i) => put(store, `${i}`))
    await answers[20]
    await server.kill()
    const settled = await Promise.all(answers)
    await server.start()
    await ready(store)
    for (const [i, answer] of settled.entries()) {
      const there = (await store.get('t', 'thread', `${i}`)) !== undefined
      if (answer instanceof StoreUnavailable) expect(there).toBe(false)
      else if (!(answer instanceof StoreIndeterminate))
        expect([there, answer]).toEqual([true, expect.anything()])
    }
    const events = await store.events('t', 0, 999)
    expect(events.map(({ number }) => number)).toEqual(events.map((_, i) => i + 1))
  })

  it('loads the scripts again after a restart has lost them', async () => {
    const server = await serve()
    const store = await open(server)
    await put(store, 'a')
    await server.ask('SCRIPT', 'FLUSH')
    expect(await Promise.all(Array.from({ length: 64 }, (_, i) => put(store, `b${i}`)))).toEqual(
      Array.from({ length: 64 }, () => ({ ok: true, numbers: [expect.any(Number)] })),
    )
  })
})

describe('the epoch (S19)', () => {
  const spend = (store: Store, epoch: string, revision: number): Promise<unknown> =>
    store.commit(
      't',
      commitOf(store, {
        guards: [{ type: 'token', id: 'x', revision }, { epoch }],
        writes: [{ op: 'put', type: 'token', id: 'x', body: 'used' }],
      }),
    )

  it('changes with a restart, so that writes lost with a torn file cannot be repeated', async () => {
    const server = await serve()
    const store = await open(server)
    await store.commit(
      't',
      commitOf(store, { writes: [{ op: 'put', type: 'token', id: 'x', body: 'fresh' }] }),
    )
    const epoch = await store.epoch('t')
    const file = lastAofOf(server)
    const size = statSync(file).size
    expect(await spend(store, epoch, 1)).toMatchObject({ ok: true })
    await server.kill()
    truncateSync(file, size + 20)
    await server.start()
    await ready(store)
    expect(await store.get('t', 'token', 'x')).toMatchObject({ body: 'fresh', revision: 1 })
    expect(await spend(store, epoch, 1)).toEqual({ ok: false, reason: 'guard', failed: [1] })
    expect(await store.epoch('t')).not.toBe(epoch)
  })

  it('changes when a server gets its first replica', async () => {
    const [first, second] = [await serve(), await serve()]
    const store = await open(first, { accept: ['unconfirmed-failover'] })
    const epoch = await store.epoch('t')
    await second.ask('REPLICAOF', '127.0.0.1', String(first.port))
    await eventually(async () => (await second.ask('INFO', 'replication')).includes('master_link_status:up'))
    expect(await store.epoch('t')).not.toBe(epoch)
  })

  it('changes when a replica takes over, and again when the first server returns', async () => {
    const [first, second] = [await serve(), await serve()]
    await second.ask('REPLICAOF', '127.0.0.1', String(first.port))
    await eventually(async () => (await second.ask('INFO', 'replication')).includes('master_link_status:up'))
    const one = await open(first, { accept: ['unconfirmed-failover'] })
    const epochs = [await one.epoch('t')]
    await second.ask('REPLICAOF', 'NO', 'ONE')
    const two = await open(second, { accept: ['unconfirmed-failover'] })
    epochs.push(await two.epoch('t'))
    await first.ask('REPLICAOF', '127.0.0.1', String(second.port))
    await eventually(async () => (await first.ask('INFO', 'replication')).includes('master_link_status:up'))
    expect(await put(one, 'demoted')).toBeInstanceOf(StoreUnavailable)
    await first.ask('REPLICAOF', 'NO', 'ONE')
    await ready(one)
    epochs.push(await one.epoch('t'))
    expect(new Set(epochs).size).toBe(3)
  })
})

function lastAofOf(server: RedisServer): string {
  const directory = join(server.directory, 'appendonlydir')
  const names = existsSync(directory) ? readdirSync(directory) : []
  const [last = ''] = names
    .filter((name) => name.endsWith('.incr.aof'))
    .toSorted()
    .reverse()
  return join(directory, last)
}

describe('settings that break the durability promise', () => {
  it.each([
    [{ appendfsync: 'everysec' }, 'appendfsync', { durability: 'async' }, 'async'],
    [{ appendonly: 'no' }, 'appendonly', { durability: 'async' }, 'async'],
    [{ 'no-appendfsync-on-rewrite': 'yes' }, 'no-appendfsync-on-rewrite', { durability: 'async' }, 'async'],
    [
      { maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' },
      'noeviction',
      { accept: ['eviction'] },
      'fsync',
    ],
  ] as const)('%j are refused, unless accepted by name', async (config, named, asked, durability) => {
    const server = await serve({ config })
    const refusal = await openRedisStore({ address: parseRedisAddress(server.url) }).catch(
      (error: unknown) => error,
    )
    expect(refusal).toBeInstanceOf(UnsafeRedis)
    expect((refusal as Error).message).toContain(named)
    expect((await open(server, asked)).durability).toBe(durability)
  })

  it('a primary with replicas is refused while none confirms, unless accepted by name', async () => {
    const [first, second] = [await serve(), await serve()]
    await second.ask('REPLICAOF', '127.0.0.1', String(first.port))
    await eventually(async () => (await first.ask('INFO', 'replication')).includes('connected_slaves:1'))
    const address = parseRedisAddress(first.url)
    await expect(openRedisStore({ address })).rejects.toThrow('unconfirmed-failover')
    expect((await open(first, { replicas: 1 })).durability).toBe('replicated')
    expect((await open(first, { accept: ['unconfirmed-failover'] })).durability).toBe('fsync')
    await expect(openRedisStore({ address: parseRedisAddress(second.url) })).rejects.toThrow('not a primary')
  })

  it('a setting that becomes unsafe while the store is open makes it not ready', async () => {
    const server = await serve()
    const store = await open(server)
    await server.ask('CONFIG', 'SET', 'appendfsync', 'no')
    await server.ask('CLIENT', 'KILL', 'TYPE', 'normal')
    await eventually(async () => (await store.health()).reason?.includes('appendfsync') === true)
    expect(await put(store, 'a')).toBeInstanceOf(StoreUnavailable)
    await server.ask('CONFIG', 'SET', 'appendfsync', 'always')
    await ready(store)
    expect(await put(store, 'a')).toMatchObject({ ok: true })
  })

  it('an unreachable server is refused with its reason', async () => {
    const server = await serve()
    await server.kill()
    await expect(openRedisStore({ address: parseRedisAddress(server.url) })).rejects.toBeInstanceOf(
      StoreUnavailable,
    )
  })
})

describe('replicas that confirm with WAIT', () => {
  it('a commit without a confirming replica in time is indeterminate, and done when one confirms', async () => {
    const [first, second] = [await serve(), await serve()]
    await second.ask('REPLICAOF', '127.0.0.1', String(first.port))
    await eventually(async () => (await second.ask('INFO', 'replication')).includes('master_link_status:up'))
    const store = await open(first, { replicas: 1 })
    // up to a second after its link is up, a new replica is sent nothing yet
    await eventually(async () => ((await put(store, 'first')) as { ok?: boolean }).ok === true)
    expect(await Promise.all(Array.from({ length: 64 }, (_, i) => put(store, `${i}`)))).toEqual(
      Array.from({ length: 64 }, () => ({ ok: true, numbers: [expect.any(Number)] })),
    )
    second.signal('SIGSTOP')
    const { answer, late } = await timed(put(store, 'alone', 300))
    expect(answer).toBeInstanceOf(StoreIndeterminate)
    expect(late).toBe(false)
    second.signal('SIGCONT')
    await eventually(async () => ((await put(store, 'again')) as { ok?: boolean }).ok === true)
    expect(await second.ask('GET', 'cs:{t}:r:thread:again')).toContain('x')
  })
})

describe('evidence whose numbers do not match', () => {
  it('refuses a commit as a whole', async () => {
    const server = await serve()
    const store = await open(server)
    await put(store, 'a')
    await server.ask('HDEL', 'cs:{t}:h', 'n')
    expect(await put(store, 'b')).toBeInstanceOf(StoreIndeterminate)
    expect(await store.get('t', 'thread', 'b')).toBeUndefined()
  })
})

describe('a full memory of Redis', () => {
  it('is not predicted without a memory limit', async () => {
    expect(await (await open(await serve())).health()).toEqual({ ready: true })
  })

  it('refuses commits as a whole, while reads continue', async () => {
    const server = await serve({ config: { maxmemory: '3mb' } })
    const store = await open(server)
    const { ready, roomBytes = 0 } = await store.health()
    expect([ready, roomBytes > 0, roomBytes < 3 * 1024 * 1024]).toEqual([true, true, true])
    const body = 'x'.repeat(50_000)
    const entry = { op: 'index', index: 'i', member: 'm', to: 1 } as const
    await store.commit('t', commitOf(store, { writes: [entry] }))
    let refused: unknown
    for (let i = 0; i < 200 && refused === undefined; i++) {
      const writes = [{ op: 'put', type: 'blob', id: `${i}`, body } as const]
      await store
        .commit('t', commitOf(store, { writes, events: ['e', 'f'] }))
        .catch((error: unknown) => (refused = error))
    }
    expect(refused).toBeInstanceOf(StoreUnavailable)
    expect((refused as Error).message).toContain('OOM')
    const events = await store.events('t', 0, 999)
    expect(events.length % 2).toBe(0)
    expect(await store.get('t', 'blob', String(events.length / 2))).toBeUndefined()
    expect(await store.get('t', 'blob', String(events.length / 2 - 1))).toMatchObject({ body })
    await server.ask('CONFIG', 'SET', 'maxmemory', '1')
    expect(await store.epoch('t')).not.toBe('')
    expect(await store.range('t', 'i', { limit: 9, after: { score: 0, member: '' } })).toHaveLength(1)
  })
})
