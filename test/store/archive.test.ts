import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { type DumpEntry, type StoreArchive, StoreMoved } from '../../src/store/archive.ts'
import { createLawCheck } from '../../src/store/archive-laws.ts'
import { parseRedisAddress } from '../../src/store/redis/address.ts'
import { openRedisArchive } from '../../src/store/redis/archive.ts'
import { openRedisRestore } from '../../src/store/redis/restore.ts'
import { openRedisStore } from '../../src/store/redis/store.ts'
import type { Store, Write } from '../../src/store/store.ts'
import { backupOf, restoreFrom } from '../backup/file-of.ts'
import { startRedis } from '../redis/server.ts'
import { commitOf } from './commit-of.ts'
import { type Place, Places } from './places.ts'

/*
 * The laws of every archive, and of a restore on any adapter: the same suite from each adapter to each.
 */

const places = new Places()
afterAll(() => places.dispose())

const KINDS = ['embedded', 'redis'] as const
const PAIRS = KINDS.flatMap((from) => KINDS.map((to) => [from, to] as const))

/** Names of every kind that the port takes. */
const NAMES = [
  '',
  'a',
  'a:b',
  '{x}',
  'a*b?[c]\\d^-',
  'é',
  '\0',
  '\u0001',
  '\x7f',
  '\x7f0041',
  'line\nend',
  '\u2028',
  '\ud800',
  '\udc00x',
  '\u{1f600}',
  '\uffff',
  'n'.repeat(64),
]

async function committed(
  store: Store,
  partition: string,
  parts: Parameters<typeof commitOf>[1],
): Promise<void> {
  const result = await store.commit(partition, commitOf(store, parts))
  expect(result).toMatchObject({ ok: true })
}

/** Everything that the port takes. */
async function fill(place: Place): Promise<void> {
  const store = await place.open()
  for (const partition of NAMES) {
    const writes = NAMES.flatMap((name, i): Write[] => [
      { op: 'put', type: name, id: name, body: `body of ${i}\n${'x'.repeat(i)}` },
      { op: 'put', type: 'type', id: name, body: '' },
      { op: 'index', index: name, member: name, to: i },
      {
        op: 'index',
        index: 'scores',
        member: name,
        to: [-0, 1.5, -1e300, 1e21, 5e-324, 2 ** 53][i % 6] ?? 0,
      },
      { op: 'charge', limit: name, windowMs: 24_000, at: store.now(), amount: i + 1 },
      { op: 'charge', limit: name, windowMs: 24_000, at: store.now() - 5_000, amount: 2 },
    ])
    await committed(store, partition, {
      commitId: `commit ${JSON.stringify(partition)}`,
      writes,
      events: ['one', '{"two":"\u{1f600}\\n"}', ''],
      disclosures: ['{"seed":"\u{1f600}\\n"}', undefined, ''],
    })
    await committed(store, partition, {
      writes: [
        { op: 'put', type: 'type', id: 'a', body: 'again' },
        { op: 'delete', type: 'type', id: 'é' },
        { op: 'index', index: 'scores', member: 'a' },
        { op: 'mark', index: 'marks' },
      ],
      events: ['three'],
    })
  }
  const events = Array.from({ length: 5 }, (_, i) => `${i}`)
  await committed(store, 'trimmed', { events, disclosures: ['of 1', undefined, 'of 3', undefined, 'of 5'] })
  await committed(store, 'trimmed', { writes: [{ op: 'trim', before: 4 }] })
  await committed(store, 'only records', { writes: [{ op: 'put', type: 't', id: 'i', body: 'b' }] })
  await store.close()
}

async function dumped(archive: StoreArchive, partition: string): Promise<DumpEntry[]> {
  const entries: DumpEntry[] = []
  for await (const entry of archive.dump(partition)) entries.push(entry)
  return entries
}

describe.each(KINDS)('the archive of the %s store', (kind) => {
  it('returns every entry once, in order, without breaking a law', async () => {
    const place = await places.of(kind)
    await fill(place)
    const archive = await place.archive()
    const partitions = await archive.partitions()
    expect(partitions).toEqual([...NAMES, 'only records', 'trimmed'].sort((a, b) => (a < b ? -1 : 1)))
    for (const partition of partitions) {
      const laws = createLawCheck()
      const entries = await dumped(archive, partition)
      expect([...entries.flatMap((entry) => laws.take(entry)), ...laws.end()]).toEqual([])
      expect(entries.length).toBe(
        partition === 'only records'
          ? 2
          : partition === 'trimmed'
            ? 5
            : 1 + 4 + 2 * NAMES.length - 1 + 1 + NAMES.length + 2 * NAMES.length - 1,
      )
    }
    await archive.close()
  })

  it('returns the disclosures of events that were trimmed, before the others (S22)', async () => {
    const place = await places.of(kind)
    await fill(place)
    const archive = await place.archive()
    const entries = await dumped(archive, 'trimmed')
    await archive.close()
    expect(entries).toMatchObject([
      { kind: 'head', first: 4, last: 5 },
      { kind: 'disclosures', number: 1, text: 'of 1' },
      { kind: 'disclosures', number: 3, text: 'of 3' },
      { kind: 'event', number: 4, body: '3' },
      { kind: 'event', number: 5, body: '4', disclosures: 'of 5' },
    ])
  })

  it('returns the data of the store itself', async () => {
    const place = await places.of(kind)
    await fill(place)
    const archive = await place.archive()
    const entries = await dumped(archive, 'a:b')
    await archive.close()
    const store = await place.open()
    for (const entry of entries) {
      if (entry.kind === 'record')
        expect(await store.get('a:b', entry.type, entry.id)).toEqual({
          revision: entry.revision,
          commitId: entry.commitId,
          body: entry.body,
        })
    }
    const events = await store.events('a:b', 0, 10)
    const beside = new Map(
      (await store.disclosures('a:b', 0, 10)).map(({ number, text }) => [number, { disclosures: text }]),
    )
    expect(beside.size).toBe(2)
    expect(entries.filter((entry) => entry.kind === 'event')).toEqual(
      events.map((one) => ({ kind: 'event', ...one, ...beside.get(one.number) })),
    )
    for (const name of [...NAMES, 'scores', 'marks']) {
      const range = await store.range('a:b', name, { limit: 100 })
      expect(entries.filter((entry) => entry.kind === 'index' && entry.index === name)).toEqual(
        range.map((one) => ({ kind: 'index', index: name, ...one })),
      )
    }
    await store.close()
  })

  it('refuses a place without a store, or returns nothing from it', async () => {
    const place = await places.of(kind)
    const refused = place.archive()
    if (kind === 'embedded') await expect(refused).rejects.toThrow('there is no store')
    else expect(await (await refused).partitions()).toEqual([])
  })

  it('is invisible to others while it is restored, and whole afterwards', async () => {
    const from = await places.of(kind)
    await fill(from)
    const backup = await backupOf(await from.archive())
    const to = await places.of(kind)
    const restore = await to.restore()
    await restore.load('a', { kind: 'record', type: 't', id: 'i', revision: 1, commitId: 'c', body: 'b' })
    await restore.settle(1)
    await expect(to.open()).rejects.toThrow(/in use by another process|under way, or was broken off/)
    await expect(to.archive()).rejects.toThrow(/there is no store|in use by|under way, or was broken off/)
    await restore.abandon()
    const empty = await to.open()
    expect(await empty.get('a', 't', 'i')).toBeUndefined()
    await empty.close()
    const again = await places.of(kind)
    await restoreFrom(backup, await again.restore())
    const store = await again.open()
    expect(await store.get('a', 'type', 'a')).toMatchObject({ revision: 2, body: 'again' })
    await store.close()
  })

  it('is not restored over a store', async () => {
    const place = await places.of(kind)
    await fill(place)
    const before = await backupOf(await place.archive())
    await expect(place.restore()).rejects.toThrow('already')
    expect(await backupOf(await place.archive())).toBe(before)
  })
})

describe.each(PAIRS)('a backup from %s to %s', (one, other) => {
  it('yields the same file again, byte for byte, and continues (S06, S10, S12, S18, S19)', async () => {
    const [from, to, back] = [await places.of(one), await places.of(other), await places.of(one)]
    await fill(from)
    const first = await backupOf(await from.archive())
    await restoreFrom(first, await to.restore())
    const second = await backupOf(await to.archive())
    expect(second).toBe(first)
    await restoreFrom(second, await back.restore())
    expect(await backupOf(await back.archive())).toBe(first)
    const [before, after] = [await from.open(), await to.open()]
    const limit = { limit: '\ud800', windowMs: 24_000 }
    const held = 2 + NAMES.indexOf('\ud800') + 1
    for (const store of [before, after]) {
      const commit = { guards: [{ type: 'type', id: 'a', revision: 2 }], events: ['four'] }
      expect(await store.commit('a', commitOf(store, commit))).toEqual({ ok: true, numbers: [5] })
      const guarded = (atMost: number) =>
        store.commit('a', commitOf(store, { guards: [{ ...limit, amount: 0, atMost }] }))
      expect([await guarded(held - 1), await guarded(held)]).toMatchObject([{ ok: false }, { ok: true }])
    }
    expect([await after.firstEvent('trimmed'), (await after.events('trimmed', 0, 9)).length]).toEqual([4, 2])
    expect(await after.disclosures('trimmed', 0, 4)).toHaveLength(2)
    for (const partition of NAMES)
      expect(await after.epoch(partition)).not.toBe(await before.epoch(partition))
    expect(after.now()).toBeGreaterThanOrEqual(Number(/"time":(\d+)/.exec(first)?.[1]))
    await before.close()
    await after.close()
  })
})

describe("a Redis user with only the gateway's permissions", () => {
  const operations = readFileSync(new URL('../../docs/redis.md', import.meta.url), 'utf8')
  const GATEWAY = /^user countersign on >PASSWORD (.*)$/m.exec(operations)?.[1] ?? ''
  const page = readFileSync(new URL('../../docs/store.md', import.meta.url), 'utf8')
  const more = /`(\+mget [^`]*)`/.exec(page)?.[1] ?? ''

  it('can open a store; exporting and restoring need exactly the permissions in docs/store.md', async () => {
    const server = await startRedis()
    onTestFinished(() => server.dispose())
    const rules = (text: string) => ['on', '>sesame', ...text.split(' ')]
    await server.ask('ACL', 'SETUSER', 'gateway', ...rules(GATEWAY))
    await server.ask('ACL', 'SETUSER', 'backup', ...rules(`${GATEWAY} ${more}`))
    const as = (user: string) => ({
      address: parseRedisAddress(`redis://${user}:sesame@127.0.0.1:${server.port}`),
    })
    const store = await openRedisStore(as('gateway'))
    await committed(store, 'p', { writes: [{ op: 'put', type: 't', id: 'i', body: 'b' }], events: ['e'] })
    await store.close()
    await expect(backupOf(await openRedisArchive(as('gateway')))).rejects.toThrow('NOPERM')
    const backup = await backupOf(await openRedisArchive(as('backup')))
    await server.ask('FLUSHALL')
    const broken = await openRedisRestore(as('backup'))
    await broken.load('p', { kind: 'record', type: 't', id: 'i', revision: 1, commitId: 'c', body: 'b' })
    await broken.settle(1)
    await broken.abandon()
    await restoreFrom(backup, await openRedisRestore(as('backup')))
    expect(await backupOf(await openRedisArchive(as('backup')))).toBe(backup)
    expect(await server.ask('ACL', 'LOG')).not.toContain('backup')
  })
})

describe('the archive of a Redis that is in use', () => {
  it('notices a commit and a claim while it reads, and reads again', async () => {
    const place = await places.redis()
    const store = await place.open()
    const writes = Array.from({ length: 2_500 }, (_, i): Write => ({
      op: 'index',
      index: 'due',
      member: `m${i}`,
      to: i,
    }))
    await committed(store, 'p', { writes, events: ['e'] })
    const archive = await place.archive()
    const disturbed = async (act: () => Promise<unknown>): Promise<void> => {
      const reading = archive.dump('p')[Symbol.asyncIterator]()
      for (let i = 0; i < 1_500; i++) await reading.next()
      await act()
      while (!(await reading.next()).done);
    }
    await disturbed(() => Promise.resolve())
    await expect(disturbed(() => committed(store, 'p', {}))).rejects.toThrow(StoreMoved)
    const claim = { now: store.now(), lease: 1_000, limit: 10 }
    await expect(disturbed(() => store.claimDue('p', 'due', claim))).rejects.toThrow(StoreMoved)
    await disturbed(() => committed(store, 'another partition', {}))
    await archive.close()
    await store.close()
  })

  it('is exported whole between commits, and refused in one sentence when commits never stop', async () => {
    const place = await places.redis()
    const store = await place.open()
    await committed(store, 'p', { writes: [{ op: 'put', type: 't', id: 'i', body: '1' }], events: ['e'] })
    const archive = await place.archive()
    let reads = 0
    const disturb = (often: number): StoreArchive => ({
      now: () => archive.now(),
      time: () => archive.time(),
      partitions: () => archive.partitions(),
      close: () => Promise.resolve(),
      async *dump(partition) {
        for await (const entry of archive.dump(partition)) {
          yield entry
          if (entry.kind === 'head' && reads++ < often) await committed(store, 'p', { events: ['more'] })
        }
      },
    })
    const backup = await backupOf(disturb(2))
    expect(backup.match(/"more"/g)).toHaveLength(2)
    expect(backup).toContain('"last":3')
    reads = 0
    await expect(backupOf(disturb(1_000))).rejects.toThrow('was changed while it was read')
    await archive.close()
    await store.close()
  })

  it('is not restored during another restore, and restarts on request', async () => {
    const place = await places.redis()
    const broken = await place.restore()
    await broken.load('p', { kind: 'record', type: 't', id: 'i', revision: 1, commitId: 'c', body: 'b' })
    await broken.settle(1)
    await broken.close()
    await expect(place.restore()).rejects.toThrow(/already|under way, or was broken off/)
    await expect(place.open()).rejects.toThrow('under way, or was broken off')
    const again = await place.restore({ restart: true })
    await again.load('q', { kind: 'record', type: 't', id: 'i', revision: 1, commitId: 'c', body: 'b' })
    await again.settle(1)
    await again.publish()
    const store = await place.open()
    expect([await store.get('p', 't', 'i'), await store.get('q', 't', 'i')]).toMatchObject([
      undefined,
      { revision: 1 },
    ])
    expect(await place.ask('EXISTS', 'cs:restoring')).toBe('0')
    await store.close()
  })

  it('is not restored on a server whose clock is behind the backup: every commit would be late', async () => {
    const place = await places.redis()
    const restore = await place.restore()
    await restore.load('p', { kind: 'record', type: 't', id: 'i', revision: 1, commitId: 'c', body: 'b' })
    await expect(restore.settle(Date.now() + 3_600_000)).rejects.toThrow('clock')
    await restore.abandon()
    expect(await place.ask('DBSIZE')).toBe('0')
  })

  it('gives every restored partition a new epoch, also on the same server, so that no old proof counts', async () => {
    const place = await places.redis()
    const store = await place.open()
    await committed(store, 'p', { writes: [{ op: 'put', type: 't', id: 'i', body: 'b' }] })
    const before = await store.epoch('p')
    const backup = await backupOf(await place.archive())
    await committed(store, 'later', { writes: [{ op: 'put', type: 'token', id: 'i', body: 'b' }] })
    await store.close()
    await place.ask('FLUSHDB')
    await restoreFrom(backup, await place.restore())
    const after = await place.open()
    expect(await after.epoch('p')).not.toBe(before)
    const guarded = await after.commit('p', commitOf(after, { guards: [{ epoch: before }] }))
    expect(guarded).toMatchObject({ ok: false, reason: 'guard' })
    // a partition without a head has the epoch of before; but nothing that was promised in it is there
    expect(await after.get('later', 'token', 'i')).toBeUndefined()
    await after.close()
  })
})

it('an embedded store is complete once it is visible: no write follows that could fail', async () => {
  const from = places.embedded()
  await fill(from)
  const backup = await backupOf(await from.archive())
  const to = places.embedded()
  const restore = await to.restore()
  // in the way of what would be written there
  mkdirSync(join(to.path, 'store.json.new'))
  await restoreFrom(backup, restore)
  const names = readdirSync(to.path).filter((name) => !name.startsWith('lock.'))
  expect(names.toSorted()).toEqual(['store.json', 'store.json.new', 'store.mdb', 'store.mdb-lock'])
  await (await to.open()).close()
})
