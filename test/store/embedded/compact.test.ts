import { createHash, randomUUID } from 'node:crypto'
import fs, {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openEmbeddedArchive } from '../../../src/store/embedded/archive.ts'
import { compactEmbedded } from '../../../src/store/embedded/compact.ts'
import { stateOfDataFile } from '../../../src/store/embedded/files.ts'
import { openDatabase } from '../../../src/store/embedded/lmdb.ts'
import { type EmbeddedOptions, openEmbeddedStore } from '../../../src/store/embedded/store.ts'
import { startProcess } from '../../crash.ts'
import { commitOf } from '../commit-of.ts'

/** A store whose file is mostly free is copied into a smaller file, which replaces it in one step. */

const COMPACTOR = fileURLToPath(new URL('compactor.mjs', import.meta.url))
const READER = fileURLToPath(new URL('reader.mjs', import.meta.url))
const RECORDS = 400

let parent: string
let original: string
let content: string
let copies = 0

beforeAll(async () => {
  parent = mkdtempSync(join(tmpdir(), 'countersign-compact-'))
  original = join(parent, 'original')
  await fillAndEmpty(original)
  content = await contentOf(original)
})
afterAll(() => rmSync(parent, { recursive: true, force: true }))

/** Writes large records, and deletes nine of ten. */
async function fillAndEmpty(path: string): Promise<void> {
  const store = await openEmbeddedStore({ path, minFreeBytes: 0 })
  const ids = Array.from({ length: RECORDS }, (_, i) => `r${i}`)
  const body = 'x'.repeat(20_000)
  await store.commit(
    't',
    commitOf(store, { writes: ids.map((id) => ({ op: 'put', type: 'a', id, body })), events: ['e'] }),
  )
  const gone = ids.filter((_, i) => i % 10 > 0)
  await store.commit('t', commitOf(store, { writes: gone.map((id) => ({ op: 'delete', type: 'a', id })) }))
  await store.close()
}

/** A digest of everything that the store has. */
async function contentOf(path: string): Promise<string> {
  const archive = await openEmbeddedArchive({ path })
  const hash = createHash('sha256')
  for await (const entry of archive.dump('t')) hash.update(JSON.stringify(entry))
  await archive.close()
  return hash.digest('hex')
}

function another(): string {
  const path = join(parent, `copy-${copies++}`)
  cpSync(original, path, { recursive: true, filter: (name) => !name.endsWith('.sock') })
  return path
}

const sizeOf = (path: string): number => statSync(join(path, 'store.mdb')).size
const unfinished = (path: string): string[] => readdirSync(path).filter((name) => name.startsWith('compact.'))
const full = { type: 0, bsize: 4_096, bavail: 100 }

describe('a compaction', () => {
  it('keeps every entry in a smaller file, and the store works on', async () => {
    const path = another()
    const { before, after } = await compactEmbedded({ path })
    expect([before, after]).toEqual([sizeOf(original), sizeOf(path)])
    expect(after).toBeLessThan(before / 5)
    expect(statSync(join(path, 'store.mdb')).mode & 0o777).toBe(0o600)
    expect(unfinished(path)).toEqual([])
    expect(await contentOf(path)).toBe(content)
    const store = await openEmbeddedStore({ path, minFreeBytes: 0 })
    expect(await store.commit('t', commitOf(store, { events: ['next'] }))).toMatchObject({
      ok: true,
      numbers: [2],
    })
    await store.close()
  })

  it('is invisible to a process that reads the old file meanwhile', async () => {
    const path = another()
    const store = await openEmbeddedStore({ path, minFreeBytes: 0 })
    const reading = startProcess(READER, [path])
    await reading.lineWhere((line) => line === 'open')
    await store.close()
    await compactEmbedded({ path })
    const again = await openEmbeddedStore({ path, minFreeBytes: 0 })
    expect(await again.commit('t', commitOf(again, { events: ['next'] }))).toMatchObject({
      ok: true,
      numbers: [2],
    })
    reading.send('read')
    expect((await reading.ended).lines).toEqual(['open', 'events 1'])
    await again.close()
  })

  it('refuses a store in use, a directory without one, another deployment, and a disk without room', async () => {
    const path = another()
    const store = await openEmbeddedStore({ path, minFreeBytes: 0 })
    await expect(compactEmbedded({ path })).rejects.toThrow('in use by another process')
    await store.close()
    await expect(compactEmbedded({ path: join(parent, 'none') })).rejects.toThrow('there is no store in')
    await expect(compactEmbedded({ path, deployment: 'b' })).rejects.toThrow('another deployment')
    await expect(compactEmbedded({ path, statfs: () => full })).rejects.toThrow('has no room for the copy')
    expect([sizeOf(path), unfinished(path)]).toEqual([sizeOf(original), []])
  })

  it('refuses a network file system', async () => {
    const path = another()
    await expect(compactEmbedded({ path, statfs: () => ({ ...full, type: 0x6969 }) })).rejects.toThrow('NFS')
    expect(sizeOf(path)).toBe(sizeOf(original))
  })

  it('keeps a file that another process replaced meanwhile', async () => {
    const path = another()
    const data = join(path, 'store.mdb')
    const statfs = () => {
      cpSync(data, join(path, 'other'))
      renameSync(join(path, 'other'), data)
      return { ...full, bavail: 10_000 }
    }
    await expect(compactEmbedded({ path, statfs })).rejects.toThrow('another process changed store.mdb')
    expect(sizeOf(path)).toBe(sizeOf(original))
    // nor does the copy stay on the disk
    expect(unfinished(path)).toEqual([])
  })

  it('that cannot remove the empty folder still succeeds', async () => {
    const path = another()
    const { rmSync: remove } = fs
    fs.rmSync = (name, options) => {
      if (String(name).includes('compact.')) throw new Error('EBUSY')
      remove(name, options)
    }
    syncBuiltinESMExports()
    onTestFinished(() => {
      fs.rmSync = remove
      syncBuiltinESMExports()
    })
    const { after } = await compactEmbedded({ path })
    expect([sizeOf(path), unfinished(path).length]).toEqual([after, 1])
  })

  it('knows a file of another commit by its state', async () => {
    const path = another()
    const db = openDatabase(join(path, 'store.mdb'))
    const before = stateOfDataFile(path)
    expect(stateOfDataFile(path)).toBe(before)
    await db.put(Buffer.from('key'), 'value')
    expect(stateOfDataFile(path)).not.toBe(before)
    await db.close()
  })
})

describe('a start', () => {
  const start = async (
    path: string,
    more: Partial<EmbeddedOptions> = {},
    leastBytes = 0,
  ): Promise<string[]> => {
    const notes: string[] = []
    const note = (_: object, text: string): void => void notes.push(text)
    const store = await openEmbeddedStore({ path, minFreeBytes: 0, compact: { note, leastBytes }, ...more })
    await store.close()
    return notes
  }

  it('compacts a file of which more than half is free, once', async () => {
    const path = another()
    expect(await start(path)).toEqual(['the store was compacted, because more than half of it was free'])
    expect(sizeOf(path)).toBeLessThan(sizeOf(original) / 5)
    expect(await contentOf(path)).toBe(content)
    expect(await start(path)).toEqual([])
  })

  it('leaves a small file, a new directory, and a disk without room', async () => {
    const path = another()
    expect(await start(path, {}, 2 ** 40)).toEqual([])
    expect(await start(join(parent, 'new'))).toEqual([])
    const statfs = () => ({ ...full, bavail: 100 })
    expect(await start(path, { statfs })).toEqual([])
    expect(sizeOf(path)).toBe(sizeOf(original))
  })

  it('continues with the old file when the compaction fails, and says so', async () => {
    const path = another()
    let looks = 0
    // the disk is full just before the copy
    const statfs = () => ({ ...full, bavail: ++looks === 3 ? 0 : 10_000 })
    expect(await start(path, { statfs })).toEqual(['the store could not be compacted, and is used as it is'])
    expect(sizeOf(path)).toBe(sizeOf(original))
    expect(await contentOf(path)).toBe(content)
  })

  it('removes what a killed compaction left, and nothing else', async () => {
    const path = another()
    const left = join(path, `compact.${randomUUID()}`)
    mkdirSync(left)
    writeFileSync(join(left, 'store.mdb'), 'half')
    mkdirSync(join(path, 'compact.old'))
    const file = `compact.${randomUUID()}`
    for (const name of ['compact.log', file]) writeFileSync(join(path, name), 'mine')
    const store = await openEmbeddedStore({ path, minFreeBytes: 0 })
    expect(unfinished(path)).toEqual([file, 'compact.log', 'compact.old'])
    await store.close()
  })
})

describe('a kill -9', () => {
  const compact = async (path: string, ...args: string[]) => startProcess(COMPACTOR, [path, ...args]).ended

  it('at each step leaves the old file or the new one, and the next start removes the rest', async () => {
    const counted = await compact(another())
    const calls = Number(/^calls (\d+)$/.exec(counted.lines.at(-1) ?? '')?.[1])
    expect(calls).toBeGreaterThan(4)
    const points = Array.from({ length: calls }, (_, i) => String(i + 1)).flatMap((call) => [
      [call, 'before'],
      [call, 'after'],
    ])
    const ends = { old: 0, new: 0 }
    for (const point of [['copy'], ...points]) {
      const path = another()
      const { signal } = await compact(path, ...point)
      expect([point, signal]).toEqual([point, 'SIGKILL'])
      ends[sizeOf(path) === sizeOf(original) ? 'old' : 'new'] += 1
      expect([point, await contentOf(path)]).toEqual([point, content])
      const store = await openEmbeddedStore({ path, minFreeBytes: 0 })
      expect(await store.commit('t', commitOf(store, { events: ['next'] }))).toMatchObject({
        ok: true,
        numbers: [2],
      })
      await store.close()
      expect([point, unfinished(path)]).toEqual([point, []])
    }
    expect(Math.min(ends.old, ends.new)).toBeGreaterThan(0)
  })
})
