import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keep, memberKey } from '../../src/store/embedded/keys.ts'
import { openDatabase } from '../../src/store/embedded/lmdb.ts'
import { MAIN, startProcess } from '../crash.ts'
import { held, openWorld } from '../gateway-fixture.ts'
import { until } from '../until.ts'
import { playHistory } from '../gateway/random-history.ts'
import { commitOf } from '../store/commit-of.ts'
import { Places } from '../store/places.ts'
import { runCli, runUnread } from './run.ts'
import { execFileSync } from '../sync-child.ts'

const places = new Places()
const from = places.embedded()
let directory: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cs-cli-store-'))
  const world = await openWorld({ openStore: (clock) => from.open(clock) })
  await playHistory(world, 3, 60)
  await held(await world.agent())
  await world.admin('POST', 'legal-holds', { body: { tenant: 'acme', agent: 'bot', reason: 'case 17' } })
  await world.close()
})
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true })
  await places.dispose()
})

const store = (args: readonly string[], input?: string, env: Record<string, string> = {}) =>
  runCli(['store', ...args], { cwd: directory, env, ...(input === undefined ? {} : { input }) })
const at = (name: string): string => join(directory, name)

describe('countersign store compact', () => {
  it('says the size of the file before and after, and the store still checks', async () => {
    cpSync(from.path, at('compacted'), { recursive: true, filter: (name) => !name.endsWith('.sock') })
    const address = `file:${at('compacted')}`
    const { code, out } = await store(['compact', '--store', address])
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^file:.*compacted: [\d.]+ [kM]B before, [\d.]+ [kM]B after\n$/),
    ])
    expect((await store(['check', '--store', address])).code).toBe(0)
  })

  it('refuses a store in use, an empty directory, and Redis', async () => {
    const place = places.embedded()
    const open = await place.open()
    const used = await store(['compact', '--store', place.address])
    expect([used.code, used.err]).toEqual([1, expect.stringContaining('stop the gateway first')])
    await open.close()
    const none = await store(['compact', '--store', `file:${at('none')}`])
    expect([none.code, none.err]).toEqual([1, expect.stringContaining('there is no store in')])
    const redis = await store(['compact', '--store', 'redis://127.0.0.1:1'])
    expect([redis.code, redis.err]).toEqual([
      2,
      expect.stringContaining('Redis returns freed memory by itself'),
    ])
  })
})

describe('countersign store size', () => {
  it('prints count, bytes and the last day of each kind, and the room on the disk', async () => {
    const { code, out } = await store(['size', '--store', from.address])
    expect(code).toBe(0)
    expect(out).toMatch(/^tenant {2,}kind {2,}count {2,}size  in the last day\n/)
    expect(out).toMatch(/^acme {2,}evidence {2,}\d+ {2,}[\d.]+ kB {2}[\d.]+ (?:kB|bytes)$/m)
    expect(out).toMatch(/^acme {2,}record thread {2,}\d+ {2,}[\d.]+ k?B?(?:ytes)?$/m)
    expect(out).toMatch(/\nfile:.*: a file of [\d.]+ [kM]B, [\d.]+ [MGT]B free/)
  })

  it('counts what `check` counts', async () => {
    const { out } = await store(['size', '--format', 'json', '--store', from.address])
    const { sizes } = JSON.parse(out) as {
      sizes: { kind: string; count: number; bytes: number; dayBytes?: number }[]
    }
    const checked = JSON.parse((await store(['check', '--format', 'json', '--store', from.address])).out) as {
      counts: Record<string, number>
    }
    const count = (of: (kind: string) => boolean): number =>
      sizes.filter(({ kind }) => of(kind)).reduce((sum, one) => sum + one.count, 0)
    expect({
      events: count((kind) => kind === 'evidence'),
      records: count((kind) => kind.startsWith('record ')),
      index: count((kind) => kind.startsWith('index ')),
      limits: count((kind) => kind === 'limits'),
    }).toEqual({ ...checked.counts, partitions: undefined })
    expect(sizes.every(({ bytes, dayBytes = 0 }) => dayBytes <= bytes)).toBe(true)
  })
})

describe('countersign store check', () => {
  it('exits 0 and prints how much it has read', async () => {
    const { code, out } = await store(['check', '--store', from.address])
    expect(out).toMatch(
      /^fine: nothing found in file:.*: 2 partitions, \d+ evidence records, \d+ records, \d+ index entries, \d+ limits\n$/,
    )
    expect(code).toBe(0)
  })

  it('exits 3 and names the law, the partition and the fault, as text and as JSON', async () => {
    const broken = places.embedded()
    expect((await store(['export', at('sound'), '--store', from.address])).code).toBe(0)
    expect((await store(['restore', at('sound'), '--store', broken.address])).code).toBe(0)
    const opened = await broken.open()
    const [{ member } = { member: '' }] = await opened.range('acme', 'threads', { limit: 1 })
    await opened.close()
    const db = openDatabase(join(broken.path, 'store.mdb'))
    await db.remove(keep(memberKey('acme', 'threads', member)))
    await db.close()
    const { code, out } = await store(['check', '--store', broken.address])
    expect(out).toContain(
      `S15 acme: member "${member}" is in \`threads\` at a score that the table of members does not record\n1 violation found`,
    )
    expect(code).toBe(3)
    const json = await store(['check', '--format', 'json', '--store', broken.address])
    expect(JSON.parse(json.out)).toMatchObject({
      ok: false,
      findings: [{ law: 'S15', partition: 'acme' }],
      counts: { partitions: 2 },
    })
    expect(json.code).toBe(3)
    const refused = await store(['export', at('unsound'), '--store', broken.address])
    expect(refused.err).toMatch(/breaks law S15[^]*store check/)
    expect([refused.code, existsSync(at('unsound'))]).toEqual([3, false])
  })

  it('prints each finding on one line, without obeying text of the store', async () => {
    const broken = places.embedded()
    expect((await store(['restore', at('sound'), '--store', broken.address])).code).toBe(0)
    const opened = await broken.open()
    const hostile = 'x\u001b[2J\u009b\u202e\nfine: nothing found'
    const writes = [{ op: 'put', type: 'comments', id: hostile, body: '{}' } as const]
    await opened.commit('acme', commitOf(opened, { writes }))
    await opened.close()
    const shown = 'x<U+001B>[2J<U+009B><U+202E><U+000A>fine: nothing found'
    const { code, out } = await store(['check', '--store', broken.address])
    expect(out).toContain(`G10 acme: there are comments on thread \`${shown}\`, but no thread\n`)
    expect(out).not.toMatch(/^fine/m)
    const json = await store(['check', '--format', 'json', '--store', broken.address])
    for (const text of [out, json.out]) expect(text).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u)
    expect((JSON.parse(json.out) as { findings: { what: string }[] }).findings[0]?.what).toContain(hostile)
    expect([code, json.code]).toEqual([3, 3])
  })

  it('says in one sentence that the store does not exist', async () => {
    const { code, err } = await store(['check', '--store', `file:${at('nowhere')}`])
    expect(err).toMatch(/^countersign: cannot check the store: there is no store in/)
    expect([code, existsSync(at('nowhere'))]).toEqual([1, false])
  })
})

describe('countersign store export and restore', () => {
  it('moves a gateway from embedded to Redis and back, and all backups are equal', async () => {
    const [redis, back] = [await places.redis(), places.embedded()]
    const exported = await store(['export', at('one'), '--store', from.address])
    expect(exported.out).toMatch(
      /^wrote .*one: 2 partitions, .*\n {2}_system: evidence 1 to \d+, .*\n {2}acme: evidence 1 to \d+/,
    )
    expect(statSync(at('one')).mode & 0o777).toBe(0o600)
    const moved = await store(['restore', at('one'), '--store', redis.address])
    expect(moved.out).toMatch(/^restored into redis:.*, read back and compared: 2 partitions/)
    expect((await store(['check', '--store', redis.address])).out).toContain('fine: nothing found')
    expect((await store(['export', at('two'), '--store', redis.address])).code).toBe(0)
    expect((await store(['restore', at('two'), '--store', back.address])).code).toBe(0)
    expect((await store(['export', at('three'), '--store', back.address])).code).toBe(0)
    expect(readFileSync(at('two'))).toEqual(readFileSync(at('one')))
    expect(readFileSync(at('three'))).toEqual(readFileSync(at('one')))
    expect(readdirSync(back.path).filter((name) => name.startsWith('restore.'))).toEqual([])
  })

  it('writes to standard output and reads from standard input', async () => {
    const to = places.embedded()
    const { out } = await store(['export', '-', '--store', from.address])
    const { code } = await store(['restore', '-', '--store', to.address], out)
    expect(code).toBe(0)
    expect((await store(['export', '-', '--store', to.address])).out).toBe(out)
    const cut = await store(['restore', '-', '--store', places.embedded().address], out.slice(0, 5_000))
    expect([cut.code, cut.err]).toEqual([3, expect.stringContaining('cut off')])
  })

  it('refuses a backup of another format in one sentence', async () => {
    const { out } = await store(['export', '-', '--store', from.address])
    const { code, err } = await store(
      ['restore', '-', '--store', places.embedded().address],
      out.replace('{"format":"countersign/5"}', '{"format":"countersign-store","version":2}'),
    )
    expect([code, err]).toEqual([
      3,
      'countersign: cannot restore: the backup has the format `countersign-store`, and this program reads `countersign/5` only: use the version that wrote it, or begin with an empty store\n\nnothing was restored\n',
    ])
  })

  it('reports in one line that no process reads the backup', async () => {
    const { code, err } = await runUnread(['store', 'export', '-', '--store', from.address], {
      cwd: directory,
    })
    expect([code, err]).toEqual([1, 'countersign: standard output cannot be written: write EPIPE\n'])
  })

  it('works beside a running gateway, and yields the same file as without it', async () => {
    expect((await store(['export', at('alone'), '--store', from.address])).code).toBe(0)
    const running = await from.open()
    const { code } = await store(['export', at('running'), '--store', from.address])
    await running.close()
    expect(code).toBe(0)
    expect(readFileSync(at('running'), 'utf8')).toBe(readFileSync(at('alone'), 'utf8'))
  })

  it('says to stop the gateway first before it changes the store, and changes nothing', async () => {
    const running = await from.open()
    const { code, err } = await store(['rotate-admin-key', '--store', from.address])
    await running.close()
    expect([code, err]).toEqual([
      1,
      'countersign: cannot rotate the admin key: the data directory is in use by another process\n\nstop the gateway first\n',
    ])
  })

  it('overwrites neither a file nor a store', async () => {
    writeFileSync(at('mine'), 'mine')
    expect(await store(['export', at('mine'), '--store', from.address])).toMatchObject({
      code: 2,
      err: expect.stringContaining('exists already'),
    })
    await store(['export', at('again'), '--store', from.address])
    expect(await store(['restore', at('again'), '--store', from.address])).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is a store in'),
    })
    expect(readFileSync(at('mine'), 'utf8')).toBe('mine')
  })

  it('refuses an input that cannot be read twice, and does not wait for it', async () => {
    const to = places.embedded()
    execFileSync('mkfifo', [at('pipe')])
    for (const name of ['pipe', '.']) {
      const { code, err } = await store(['restore', at(name), '--store', to.address])
      expect([code, err]).toEqual([2, expect.stringMatching(/cannot be read twice\n\n.* standard input: -/)])
    }
    expect(existsSync(to.path)).toBe(false)
  })

  it('refuses an altered backup before it touches the store', async () => {
    await store(['export', at('whole'), '--store', from.address])
    writeFileSync(at('altered'), readFileSync(at('whole'), 'utf8').replace('"revision":1', '"revision":2'))
    const to = places.embedded()
    const { code, err } = await store(['restore', at('altered'), '--store', to.address])
    expect(err).toMatch(/^countersign: cannot restore: line \d+: .*altered\n\nnothing was restored/)
    expect([code, existsSync(to.path)]).toEqual([3, false])
  })

  it.each([[['export']], [['restore']], [['check', 'x']], [['mend']], [[]], [['export', 'a', 'b']]])(
    'exits 2 for %j',
    async (args) => {
      const { code, err } = await store(args)
      expect([code, err]).toEqual([2, expect.stringMatching(/^countersign: .*\n\n[^]*countersign store/)])
    },
  )
})

describe('a large store', () => {
  const large = places.embedded()
  const ENTRIES = 40_000
  const BODY = 3_000_000
  const told = (type: string, actor: object, details: object): string =>
    JSON.stringify({ v: 1, type, tenant: 'p', at: '2026-01-01T00:00:00.000Z', actor, details })
  const KEY = told(
    'key.issued',
    { kind: 'admin', id: 'admin' },
    { holder: 'agent', id: 'bot', key_hash: 'k', rotated: false },
  )
  const NOTHING_IN_PARTICULAR = told('agent.event', { kind: 'agent', id: 'bot' }, { event_id: 'e' })

  beforeAll(async () => {
    const restore = await large.restore()
    for (let i = 1; i <= ENTRIES; i++)
      await restore.load('p', {
        kind: 'event',
        number: i,
        commitId: `c${i}`,
        body: i === 1 ? KEY : NOTHING_IN_PARTICULAR,
      })
    for (let i = 0; i < ENTRIES; i++) {
      const member = `m${i}`
      await restore.load('p', { kind: 'index', index: `purge`, score: i, member })
    }
    for (let i = 0; i < ENTRIES; i++) {
      const body = i % 2_000 === 0 ? JSON.stringify('x'.repeat(BODY)) : `"${i}"`
      await restore.load('p', {
        kind: 'record',
        type: 't',
        id: String(i).padStart(6, '0'),
        revision: 1,
        commitId: 'c',
        body,
      })
    }
    await restore.settle(1)
    await restore.publish()
    await store(['export', at('small'), '--store', from.address])
    await store(['export', at('small'), '--store', from.address])
  })

  it('is exported, restored and checked in a heap much smaller than the store', async () => {
    const small = { NODE_OPTIONS: '--max-old-space-size=100' }
    const redis = await places.redis()
    expect((await store(['export', at('large'), '--store', large.address], '', small)).err).toBe('')
    expect(statSync(at('large')).size).toBeGreaterThan(65_000_000)
    expect((await store(['restore', at('large'), '--store', redis.address], '', small)).err).toBe('')
    expect(await store(['check', '--store', redis.address], '', small)).toMatchObject({ code: 0, err: '' })
  })

  it('a restore that fills the disk reports it last, and leaves nothing', async () => {
    const to = places.embedded()
    const limited = ['sh', '-c', 'ulimit -f 4000; exec "$@"', 'sh']
    const child = startProcess(MAIN, ['store', 'restore', at('large'), '--store', to.address], {
      through: limited,
    })
    const { code, errors } = await child.ended
    // before it LMDB prints the error by itself
    expect(errors).toMatch(
      /^countersign: cannot restore: writing failed \([^\n]+\): check whether the disk is healthy and has free space\n$(?![^])/m,
    )
    expect(code).toBe(1)
    expect(readdirSync(to.path).filter((name) => !name.startsWith('lock.'))).toEqual([])
  })

  it('an export to standard output that fills the disk names the temporary file', async () => {
    const limited = ['sh', '-c', 'ulimit -f 4000; exec "$@"', 'sh']
    const child = startProcess(MAIN, ['store', 'export', '-', '--store', large.address], { through: limited })
    const { code, errors } = await child.ended
    expect(errors).toMatch(
      /^countersign: cannot export the store: it is kept in \S+ until it is complete \(TMPDIR names another place\): E/,
    )
    expect(code).toBe(1)
  })

  it('an export to standard output names the temporary place that it cannot use', async () => {
    const { code, err } = await store(['export', '-', '--store', from.address], '', { TMPDIR: at('missing') })
    expect(err).toMatch(
      /^countersign: cannot export the store: it is kept in \S+\/missing until it is complete \(TMPDIR names another place\): ENOENT/,
    )
    expect(code).toBe(1)
  })

  it('an interrupted export or restore leaves no backup and no store', async () => {
    const [embedded, redis] = [places.embedded(), await places.redis()]
    const brokenOff = async (args: readonly string[], begun: () => boolean | Promise<boolean>) => {
      const child = startProcess(MAIN, ['store', ...args])
      await until(begun)
      const { code, errors } = await child.kill('SIGTERM')
      return [code, errors]
    }
    const said = (what: string) =>
      `countersign: the ${what} was interrupted by SIGTERM: nothing of it remains\n`
    const partial = (): string[] => readdirSync(directory).filter((name) => name.includes('half'))
    const building = (): string[] =>
      existsSync(embedded.path) ? readdirSync(embedded.path).filter((name) => !name.startsWith('lock')) : []
    expect(
      await brokenOff(['export', at('half'), '--store', large.address], () => partial().length > 0),
    ).toEqual([1, said('export')])
    expect(partial()).toEqual([])
    expect(
      await brokenOff(['restore', at('large'), '--store', embedded.address], () => building().length > 0),
    ).toEqual([1, said('restore')])
    expect(building()).toEqual([])
    const begun = async (): Promise<boolean> => (await redis.ask('EXISTS', 'cs:{p}:e')) === '1'
    expect(await brokenOff(['restore', at('large'), '--store', redis.address], begun)).toEqual([
      1,
      said('restore'),
    ])
    expect(await redis.ask('DBSIZE')).toBe('0')
  })

  it('a killed restore leaves no store in use, and can be repeated', async () => {
    const [embedded, redis] = [places.embedded(), await places.redis()]
    const killed = async (address: string, begun: () => boolean | Promise<boolean>): Promise<void> => {
      const child = startProcess(MAIN, ['store', 'restore', at('large'), '--store', address])
      await until(begun)
      await child.kill()
    }
    await killed(
      embedded.address,
      () =>
        existsSync(embedded.path) && readdirSync(embedded.path).some((name) => name.startsWith('restore.')),
    )
    expect(existsSync(join(embedded.path, 'store.mdb'))).toBe(false)
    await killed(redis.address, async () => (await redis.ask('EXISTS', 'cs:{p}:e')) === '1')
    const serve = await runCli(['serve', '--port', '0', '--metrics-port', '0', '--store', redis.address], {
      cwd: directory,
    })
    expect([serve.code, serve.err]).toEqual([
      1,
      expect.stringContaining('a restore into this store is under way, or was broken off'),
    ])
    const again = await store(['restore', at('small'), '--store', redis.address])
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('--restart')])
    expect((await store(['restore', at('small'), '--restart', '--store', redis.address])).code).toBe(0)
    expect((await store(['restore', at('small'), '--store', embedded.address])).code).toBe(0)
    for (const { address } of [redis, embedded]) {
      await store(['export', at('proof'), '--store', address])
      expect(readFileSync(at('proof'))).toEqual(readFileSync(at('small')))
      rmSync(at('proof'))
    }
  })
})
