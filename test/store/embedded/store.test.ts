import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  closeSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { openEmbeddedRestore } from '../../../src/store/embedded/archive.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/store.ts'
import { StoreUnavailable } from '../../../src/store/store.ts'
import { startProcess } from '../../crash.ts'
import { checkLinearizable } from '../../linearizable.ts'
import { commitOf } from '../commit-of.ts'
import { storeConformance } from '../conformance.ts'
import { compareWithModel } from '../differential.ts'
import type { ClockSources } from '../../../src/store/clock.ts'
import type { EmbeddedOptions, EmbeddedStore } from '../../../src/store/embedded/store.ts'
import type { Model, Operation } from '../../linearizable.ts'
import type { OpenedStore } from '../conformance.ts'
import { spawnSync } from '../../sync-child.ts'
import { stopwatch } from '../../stopwatch.ts'
import { runs } from '../../runs.ts'

const WRITER = fileURLToPath(new URL('writer.mjs', import.meta.url))
const INTRUDER = fileURLToPath(new URL('intruder.mjs', import.meta.url))
const DATA = 'store.mdb'

const directories: string[] = []
const stores: EmbeddedStore[] = []

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
  for (const path of directories.splice(0)) rmSync(path, { recursive: true, force: true })
})

function newDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'countersign-store-'))
  directories.push(path)
  return path
}

/** Opens a store that is closed when the test ends. */
async function open(options: EmbeddedOptions): Promise<EmbeddedStore> {
  const store = await openEmbeddedStore(options)
  stores.push(store)
  return store
}

storeConformance('embedded', async (): Promise<OpenedStore> => {
  const path = newDirectory()
  const store = await open({ path })
  let latest = store
  return {
    store,
    reopen: async () => {
      await latest.close()
      latest = await open({ path })
      return latest
    },
    cleanup: () => latest.close(),
  }
})

describe('the embedded store against the model', () => {
  it('gives the same answers and contains the same data after random histories of 45 steps', async () => {
    const store = await open({ path: newDirectory() })
    await compareWithModel(store, { runs: runs(400), steps: 45, inOrder: true })
    for (const partition of await store.partitions())
      expect(await countDense(store, partition)).toBe((await store.events(partition, 0, 9_999)).length)
  })

  it('gives the same answers when each call is awaited', async () => {
    const store = await open({ path: newDirectory() })
    await compareWithModel(store, { runs: 30, steps: 40, inOrder: false })
  })
})

describe('tokens for which many callers race', () => {
  const token: Model<'fresh' | 'used', 'redeem', boolean> = {
    initial: 'fresh',
    next: (state, _input, output) => (output === undefined || output === (state === 'fresh') ? ['used'] : []),
  }

  it('tokens for which many callers race are redeemed once each, and every history is linearizable', async () => {
    const store = await open({ path: newDirectory() })
    const redeem = async (id: string): Promise<boolean> => {
      const record = await store.get('t', 'token', id)
      if (record?.body !== 'fresh') return false
      const result = await store.commit(
        't',
        commitOf(store, {
          guards: [{ type: 'token', id, revision: record.revision }],
          writes: [{ op: 'put', type: 'token', id, body: 'used' }],
          events: [`redeemed ${id}`],
        }),
      )
      return result.ok
    }
    let moment = 0
    const race = async (id: string): Promise<Operation<'redeem', boolean>[]> => {
      const writes = [{ op: 'put', type: 'token', id, body: 'fresh' } as const]
      await store.commit('t', commitOf(store, { writes }))
      const attempt = async (turns: number): Promise<Operation<'redeem', boolean>> => {
        for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve))
        const call = moment++
        const output = await redeem(id)
        return { call, return: moment++, input: 'redeem', output }
      }
      return Promise.all(Array.from({ length: 16 }, (_, caller) => attempt(caller % 5)))
    }
    for (const history of await Promise.all(Array.from({ length: 200 }, (_, i) => race(`token${i}`)))) {
      expect(history.filter(({ output }) => output)).toHaveLength(1)
      expect(checkLinearizable(history, token)).toMatchObject({ linearizable: true })
    }
    expect(await countDense(store, 't')).toBe(200)
  })
})

describe('the lock on the data directory', () => {
  it('F05 refuses a second start in the same process and in another one', async () => {
    const path = newDirectory()
    const store = await open({ path })
    await expect(openEmbeddedStore({ path })).rejects.toThrow('in use by another process')
    const second = await startProcess(WRITER, [path, 'second']).ended
    expect(second.code).not.toBe(0)
    expect(second.errors).toContain('in use by another process')
    expect(await store.commit('t', commitOf(store, { events: ['e'] }))).toMatchObject({ ok: true })
  })

  it('is free at once after a kill', async () => {
    const path = newDirectory()
    const child = startProcess(WRITER, [path, 'a'])
    await child.lineWhere((line) => line.startsWith('ack'))
    await expect(openEmbeddedStore({ path })).rejects.toThrow('in use by another process')
    await child.kill()
    await open({ path })
  })

  it("gives a dead owner's directory to exactly one of many processes", async () => {
    const path = newDirectory()
    const child = startProcess(WRITER, [path, 'a'])
    await child.lineWhere((line) => line.startsWith('ack'))
    await child.kill()
    const starts = await Promise.allSettled(Array.from({ length: 8 }, () => open({ path })))
    expect(starts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('works with a path that is longer than a socket address', async () => {
    const path = join(newDirectory(), 'x'.repeat(150), 'y'.repeat(150))
    await open({ path })
    await expect(openEmbeddedStore({ path })).rejects.toThrow('in use by another process')
  })

  it('leaves only the data and a dead socket', async () => {
    const path = newDirectory()
    const store = await open({ path })
    await store.close()
    expect(readdirSync(path).toSorted()).toEqual(['lock.1.sock', 'store.json', DATA, `${DATA}-lock`])
  })

  it('keeps other users from the data', async () => {
    const path = join(newDirectory(), 'data.v1')
    await open({ path })
    expect(statSync(path).mode & 0o777).toBe(0o700)
    for (const name of ['store.json', DATA, `${DATA}-lock`])
      expect([name, statSync(join(path, name)).mode & 0o777]).toEqual([name, 0o600])
  })
})

describe('a killed writer', () => {
  it('F02 loses no acknowledged write, in five lives of one store', async () => {
    const path = newDirectory()
    const acknowledged: string[] = []
    for (const [life, acks] of [1, 40, 333, 900, 1_500].entries()) {
      const child = startProcess(WRITER, [path, `life${life}`])
      let seen = 0
      await child.lineWhere((line) => line.startsWith('ack') && ++seen === acks)
      const { lines, signal } = await child.kill()
      expect(signal).toBe('SIGKILL')
      acknowledged.push(...lines.filter((line) => line.startsWith('ack') && line.split(' ').length === 3))
    }
    const tookMs = stopwatch()
    const store = await open({ path })
    expect(tookMs()).toBeLessThan(2_000)
    await expectAcknowledged(store, acknowledged)
  })
})

/** The number of a partition's events, whose numbers have no gap (S06). */
async function countDense(store: EmbeddedStore, partition: string): Promise<number> {
  const first = await store.firstEvent(partition)
  const events = await store.events(partition, 0, 1_000_000)
  expect(events.find(({ number }, i) => number !== first + i)).toBeUndefined()
  return events.length
}

/** Every acknowledged commit is there as a whole; evidence is dense and has exactly the commits that are there. */
async function expectAcknowledged(store: EmbeddedStore, lines: readonly string[]): Promise<void> {
  const count = await countDense(store, 't')
  const events = await store.events('t', 0, count + 1)
  expect(events).toHaveLength(count)
  expect(lines.length).toBeGreaterThan(0)
  for (const line of lines) {
    const [, id, number] = line.split(' ') as [string, string, string]
    expect(events[Number(number) - 1]?.commitId).toBe(id)
  }
  const highest = new Map<string, number>()
  for (const { commitId } of events) {
    expect(await store.get('t', 'token', commitId)).toMatchObject({ body: 'used', commitId })
    const end = commitId.lastIndexOf('.')
    highest.set(commitId.slice(0, end), Number(commitId.slice(end + 1)))
  }
  const due = await store.range('t', 'due', { limit: 9_999 })
  expect(new Map(due.map(({ member, score }) => [member, score]))).toEqual(highest)
}

describe('a disk that fails', () => {
  /** `ulimit -f` makes the kernel fail writes behind a size, as a broken disk would. */
  const limited = ['sh', '-c', 'ulimit -f 2048; exec "$@"', 'sh']

  it('F04 after a failed write, acknowledges nothing, keeps running, and finds all data after a restart', async () => {
    const path = newDirectory()
    const child = startProcess(WRITER, [path, 'a'], { through: limited })
    await child.lineWhere((line) => line.startsWith('health false'))
    child.send('go')
    await child.lineWhere((line) =>
      line.startsWith('error StoreUnavailable: writing failed, a restart is needed'),
    )
    const { lines } = await child.kill()
    const failure = lines.findIndex((line) => line.startsWith('error'))
    expect(lines[failure]).toMatch(/^error StoreIndeterminate: writing failed/)
    expect(lines.slice(failure).filter((line) => line.startsWith('ack'))).toEqual([])
    await expectAcknowledged(
      await open({ path }),
      lines.filter((line) => line.startsWith('ack')),
    )
  })

  /** Runs a command with a small file system of its own at `path`. */
  const onSmallDisk = (path: string): string[] => [
    'unshare',
    '-m',
    'sh',
    '-c',
    `mount -t tmpfs -o size=8m tmpfs "$0" && exec "$@"`,
    path,
  ]
  const [mounter = '', ...mountArgs] = onSmallDisk(tmpdir())
  const mayMount = spawnSync(mounter, [...mountArgs, 'true']).status === 0
  if (!mayMount) console.log('skipped: F03 on a real full disk (no permission to mount a tmpfs)')

  it.skipIf(!mayMount)(
    'F03 refuses every write on a full disk, and recovers when there is room',
    async () => {
      const path = newDirectory()
      const child = startProcess(WRITER, [path, 'a', `${2 * 1024 * 1024}`], { through: onSmallDisk(path) })
      await child.lineWhere((line) => line.startsWith('health'))
      const before = child.lines.filter((line) => line.startsWith('ack')).length
      expect(before).toBeGreaterThan(0)
      child.send('go')
      let after = 0
      await child.lineWhere((line) => line.startsWith('ack') && ++after > before)
      const { lines } = await child.kill()
      const refusals = lines.filter((line) => line.startsWith('error'))
      expect(refusals.length).toBeGreaterThan(0)
      expect(refusals.filter((line) => !line.startsWith('error StoreUnavailable'))).toEqual([])
      expect(lines.find((line) => line.startsWith('health'))).toMatch(/false the disk is full/)
    },
  )

  it('creates no store when almost no space is free, and says so: LMDB would end the process', async () => {
    const free = { bytes: 1e9 }
    const statfs = () => ({ type: 0xef53, bsize: 1, bavail: free.bytes })
    const [made, path] = [newDirectory(), newDirectory()]
    await (await open({ path: made, statfs, minFreeBytes: 0 })).close()
    free.bytes = 1024 * 1024 - 1
    const full = 'the disk is nearly full: 1048575 bytes are free, and 1048576 are needed'
    await expect(openEmbeddedStore({ path, statfs, minFreeBytes: 0 })).rejects.toThrow(full)
    await expect(openEmbeddedRestore({ path, statfs })).rejects.toThrow(full)
    expect(readdirSync(path).filter((name) => !name.startsWith('lock.'))).toEqual([])
    await (await open({ path: made, statfs, minFreeBytes: 0 })).close()
  })

  it('S20 first refuses only new work for lack of room, and recovers by itself', async () => {
    const free = { bytes: 1e9 }
    const statfs = () => ({ type: 0xef53, bsize: 1, bavail: free.bytes })
    const store = await open({ path: newDirectory(), statfs, minFreeBytes: 1_000, newWorkBytes: 5_000 })
    expect(store.shortOfRoom()).toBeUndefined()
    free.bytes = 4_999
    await expect
      .poll(() => store.shortOfRoom())
      .toBe('the disk is nearly full: 4999 bytes are free, and 5000 are needed')
    expect((await store.commit('t', commitOf(store, { events: ['e'] }))).ok).toBe(true)
    expect((await store.health()).ready).toBe(true)
    free.bytes = 999
    await expect.poll(async () => (await store.health()).ready).toBe(false)
    expect(store.shortOfRoom()).toContain('1000 are needed')
    free.bytes = 1e9
    await expect.poll(() => store.shortOfRoom()).toBeUndefined()
  })

  it('refuses writes before the disk is full, reports it, and recovers by itself', async () => {
    const free = { bytes: 1e9 }
    const statfs = () => ({ type: 0xef53, bsize: 1, bavail: free.bytes })
    const store = await open({ path: newDirectory(), statfs, minFreeBytes: 1_000 })
    await store.commit('t', commitOf(store, { events: ['e'] }))
    expect(await store.health()).toEqual({ ready: true, roomBytes: 1e9 - 1_000 })
    free.bytes = 999
    await expect.poll(async () => (await store.health()).ready).toBe(false)
    expect(await store.health()).toEqual({
      ready: false,
      reason: 'the disk is nearly full: 999 bytes are free, and 1000 are needed',
      roomBytes: 0,
    })
    await expect(store.commit('t', commitOf(store, { events: ['e'] }))).rejects.toBeInstanceOf(
      StoreUnavailable,
    )
    await expect(store.claimDue('t', 'x', { now: 1, lease: 1, limit: 1 })).rejects.toBeInstanceOf(
      StoreUnavailable,
    )
    expect(await store.events('t', 0, 9)).toHaveLength(1)
    free.bytes = 1e9
    await expect.poll(async () => (await store.health()).ready).toBe(true)
    expect(await store.commit('t', commitOf(store, { events: ['e'] }))).toEqual({ ok: true, numbers: [2] })
  })

  it('refuses writes while its data file has lost its name, because no reader would find them', async () => {
    const path = newDirectory()
    const store = await open({ path })
    const [file, aside] = [join(path, DATA), join(path, 'aside')]
    await store.commit('t', commitOf(store, { events: ['e'] }))
    const refused = async (what: string): Promise<void> => {
      await expect.poll(async () => (await store.health()).ready).toBe(false)
      const reason = `store.mdb ${what} while it was open: repair it, and restart`
      expect(await store.health()).toMatchObject({ ready: false, reason })
      await expect(store.commit('t', commitOf(store, { events: ['lost'] }))).rejects.toMatchObject({
        name: 'StoreUnavailable',
        message: reason,
      })
    }
    renameSync(file, aside)
    await refused('was removed')
    copyFileSync(aside, file)
    await expect.poll(async () => (await store.health()).reason).toContain('was replaced')
    await refused('was replaced')
    expect(await store.events('t', 0, 9)).toHaveLength(1)
    renameSync(aside, file)
    await expect.poll(async () => (await store.health()).ready).toBe(true)
    expect(await store.commit('t', commitOf(store, { events: ['e'] }))).toEqual({ ok: true, numbers: [2] })
  })

  it('S09 ends every call by its deadline while the disk hangs, and distinguishes writes in progress', async () => {
    const path = newDirectory()
    const store = await open({ path })
    const holder = startProcess(INTRUDER, [join(path, DATA), 'hold'])
    await holder.lineWhere((line) => line === 'held')
    const inTheAir = store.commit(
      't',
      commitOf(store, { commitId: 'air', deadline: store.now() + 50, events: ['air'] }),
    )
    await expect(inTheAir).rejects.toMatchObject({ name: 'StoreIndeterminate' })
    const onTheGround = store.commit('t', commitOf(store, { deadline: store.now() + 30, events: ['ground'] }))
    expect(await onTheGround).toEqual({ ok: false, reason: 'late' })
    const patient = store.commit(
      't',
      commitOf(store, { commitId: 'patient', deadline: store.now() + 20_000, events: ['x'] }),
    )
    holder.send('')
    await holder.ended
    expect(await patient).toMatchObject({ ok: true })
    expect((await store.events('t', 0, 9)).map(({ commitId }) => commitId)).toEqual(['air', 'patient'])
  })

  it('notices a write by another process, and writes nothing more', async () => {
    const path = newDirectory()
    const store = await open({ path })
    await store.commit('t', commitOf(store, { events: ['e'] }))
    await startProcess(INTRUDER, [join(path, DATA), 'write']).ended
    const call = store.commit('t', commitOf(store, { events: ['never'] }))
    await expect(call).rejects.toThrow('another process wrote to the data directory')
    await expect(call).rejects.toBeInstanceOf(StoreUnavailable)
    expect(await store.health()).toMatchObject({ ready: false })
    expect(await store.events('t', 0, 9)).toHaveLength(1)
  })

  it.each([
    ['NFS', 0x6969],
    ['CIFS', 0xff534d42 | 0],
    ['SMB2', 0xfe534d42],
    ['9p', 0x01021997],
  ])('refuses %s', async (name, type) => {
    const statfs = () => ({ type, bsize: 4_096, bavail: 1e9 })
    await expect(openEmbeddedStore({ path: newDirectory(), statfs })).rejects.toThrow(`is on ${name}`)
  })

  it('says why when the directory cannot be written', async () => {
    const path = newDirectory()
    writeFileSync(join(path, 'file'), '')
    await expect(openEmbeddedStore({ path: join(path, 'file') })).rejects.toThrow(
      /^the data directory .*file is no directory$|ENOTDIR/,
    )
  })
})

describe('data that is damaged (F06)', () => {
  async function writtenStore(events = 300): Promise<string> {
    const path = newDirectory()
    const store = await open({ path })
    for (let i = 0; i < events; i++)
      void store.commit(
        't',
        commitOf(store, {
          writes: [{ op: 'put', type: 'token', id: `${i}`, body: 'used'.repeat(100) }],
          events: ['e'.repeat(1_000)],
        }),
      )
    await store.commit(
      't',
      commitOf(store, { writes: [{ op: 'put', type: 'blob', id: 'x', body: 'y'.repeat(99_999) }] }),
    )
    await store.close()
    return path
  }

  it('refuses an emptied and a missing data file', async () => {
    const path = await writtenStore()
    truncateSync(join(path, DATA), 0)
    await expect(openEmbeddedStore({ path })).rejects.toThrow('missing or empty')
    rmSync(join(path, DATA))
    await expect(openEmbeddedStore({ path })).rejects.toThrow('missing or empty')
  })

  it('refuses a data file that was cut off at any byte', async () => {
    for (const keptPages of [1, 2, 3, 10, 60, 120]) {
      const path = await writtenStore()
      truncateSync(join(path, DATA), keptPages * 4_096 + 17)
      // LMDB may end the process on a broken page, so the start is tried in another one.
      const start = await startProcess(WRITER, [path, 'a']).ended
      expect([keptPages, start.code]).not.toEqual([keptPages, 0])
      expect(start.lines).toEqual([])
    }
  })

  it('refuses a damaged header with its position', async () => {
    const path = await writtenStore()
    const file = openSync(join(path, DATA), 'r+')
    writeSync(file, 'X', 24)
    closeSync(file)
    await expect(openEmbeddedStore({ path })).rejects.toThrow('store.mdb is damaged at byte 0')
  })

  it('refuses the data file of another store, and a damaged marker', async () => {
    const [path, other] = [await writtenStore(), await writtenStore()]
    copyFileSync(join(other, DATA), join(path, DATA))
    await expect(openEmbeddedStore({ path })).rejects.toThrow('belongs to another store')
    writeFileSync(join(other, 'store.json'), '{"format":"countersign/5"')
    await expect(openEmbeddedStore({ path: other })).rejects.toThrow('store.json is damaged')
    for (const format of [1, 'countersign/3']) {
      writeFileSync(join(other, 'store.json'), JSON.stringify({ format, store: 'x' }))
      await expect(openEmbeddedStore({ path: other })).rejects.toThrow(`has the format \`${format}\``)
    }
  })

  it('finishes a start that was interrupted before the marker was written', async () => {
    const path = await writtenStore()
    rmSync(join(path, 'store.json'))
    const store = await open({ path })
    expect(await countDense(store, 't')).toBe(300)
    const early = join(newDirectory(), 'early')
    mkdirSync(early)
    writeFileSync(join(early, DATA), '')
    await open({ path: early })
  })
})

describe('the clock of the embedded store', () => {
  const HOUR = 3_600_000

  it('F20 does not go back over a restart when the wall clock was set back, and extends no lifetime', async () => {
    const path = newDirectory()
    const time = { wall: 1e12, monotonic: 5 }
    const clock: ClockSources = { wall: () => time.wall, monotonic: () => time.monotonic }
    const store = await open({ path, clock })
    time.wall += 24 * HOUR
    const commit = commitOf(store, { events: ['e'] })
    expect(await store.commit('t', commit)).toMatchObject({ ok: true })
    await store.close()
    time.wall -= 25 * HOUR
    const again = await open({ path, clock })
    expect(again.now()).toBe(1e12 + 24 * HOUR)
    time.monotonic += 1_000
    expect(again.now()).toBe(1e12 + 24 * HOUR + 1_000)
    const late = commitOf(again, { deadline: 1e12 + 24 * HOUR + 999 })
    expect(await again.commit('t', late)).toEqual({ ok: false, reason: 'late' })
  })

  it('S12 keeps a time that was only read, and not written, when it closes', async () => {
    const path = newDirectory()
    const time = { wall: 1e12, monotonic: 5 }
    const clock: ClockSources = { wall: () => time.wall, monotonic: () => time.monotonic }
    const store = await open({ path, clock })
    time.wall += HOUR
    expect(store.now()).toBe(1e12 + HOUR)
    await store.close()
    time.wall -= HOUR
    expect((await open({ path, clock })).now()).toBe(1e12 + HOUR)
  })

  it('refuses writes while a jump of the clock is held, and records no time of it', async () => {
    const path = newDirectory()
    const time = { wall: 1e12, monotonic: 5 }
    const clock: ClockSources = { wall: () => time.wall, monotonic: () => time.monotonic, holdsJumps: true }
    const store = await open({ path, clock })
    time.wall += 24 * HOUR
    expect(await store.health()).toMatchObject({
      ready: false,
      reason: expect.stringMatching(/^the clock jumped 86400 s ahead/),
    })
    const commit = store.commit('t', commitOf(store, { events: ['e'] }))
    await expect(commit).rejects.toThrow(/^the clock jumped 86400 s ahead: it is followed if/)
    await store.close()
    time.wall -= 24 * HOUR
    const again = await open({ path, clock })
    expect(again.now()).toBe(1e12)
    time.wall += 24 * HOUR
    again.now()
    time.wall += 90_000
    time.monotonic += 90_000
    expect(await again.commit('t', commitOf(again, { events: ['e'] }))).toMatchObject({ ok: true })
    expect(await again.health()).toMatchObject({ ready: true })
  })

  it('F20 a forward jump of a day makes waiting items late, and extends no lifetime', async () => {
    const time = { wall: 1e12, monotonic: 5 }
    const clock: ClockSources = { wall: () => time.wall, monotonic: () => time.monotonic }
    const store = await open({ path: newDirectory(), clock })
    const call = store.commit('t', commitOf(store, { events: ['e'] }))
    time.wall += 24 * HOUR
    expect(await call).toEqual({ ok: false, reason: 'late' })
  })
})
