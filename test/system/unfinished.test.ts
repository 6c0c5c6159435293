import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openUnfinished } from '../../src/system/unfinished.ts'

const HOUR = 3_600_000
const KEY = 'a'.repeat(64)
const OTHER = 'b'.repeat(64)
const ids = [0, 1, 2].map((i) => `${i}`.repeat(8) + '-0000-4000-8000-000000000000')
const [FIRST = '', SECOND = '', THIRD = ''] = ids

let home: string
let directory: string
let notes: string[]

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'countersign-hook-'))
  directory = join(home, 'state', 'hooks')
  notes = []
})
afterEach(() => rm(home, { recursive: true, force: true }))

const open = (now = Date.now()) =>
  openUnfinished({
    directory: () => directory,
    keptMs: 24 * HOUR,
    now: () => now,
    note: (text) => notes.push(text),
  })
const files = (): string[] => readdirSync(directory)
/** As if it had been left then. */
const age = (id: string, ms: number, key = KEY): void => {
  const since = new Date(Date.now() - ms)
  utimesSync(join(directory, `${key}.${id}`), since, since)
}

describe('an unfinished call', () => {
  it('is taken once, by the next run with the same key', () => {
    open().leave(KEY, FIRST)
    expect(open().take(OTHER)).toBeUndefined()
    const taker = open()
    expect(taker.take(KEY)).toBe(FIRST)
    expect(open().take(KEY)).toBeUndefined()
    taker.end(KEY, FIRST)
    expect([files(), notes]).toEqual([[], []])
  })

  it('is taken in order: the oldest comes first', () => {
    for (const id of ids) open().leave(KEY, id)
    age(SECOND, 3 * HOUR)
    age(FIRST, 2 * HOUR)
    age(THIRD, HOUR)
    expect([1, 2, 3, 4].map(() => open().take(KEY))).toEqual([SECOND, FIRST, THIRD, undefined])
  })

  it('is removed after a day, whatever its key, and before one is left', () => {
    for (const id of ids) open().leave(KEY, id)
    open().leave(OTHER, FIRST)
    age(FIRST, 24 * HOUR + 60_000)
    age(FIRST, 25 * HOUR, OTHER)
    age(SECOND, -25 * HOUR)
    age(THIRD, 23 * HOUR)
    expect(open().take(KEY)).toBe(THIRD)
    expect(files()).toEqual([`${KEY}.${THIRD}.${process.pid}`])
  })

  it('is readable only by its owner', () => {
    open().leave(KEY, FIRST)
    const modes = ['', `${KEY}.${FIRST}`].map((name) => statSync(join(directory, name)).mode & 0o777)
    expect(modes).toEqual([0o700, 0o600])
  })

  it.runIf(existsSync('/proc/self'))('is not stored without a directory, and no run waits for one', () => {
    directory = '/proc/countersign/hooks'
    expect([open().take(KEY), notes]).toEqual([
      undefined,
      [expect.stringContaining('reviewers are asked again')],
    ])
  })

  it('is never confused with another file', () => {
    open().leave(KEY, FIRST)
    const strange = ['notes.txt', `${KEY}.`, `${KEY}.${'g'.repeat(36)}`, `${KEY}.${SECOND}.tmp`]
    for (const name of strange) {
      writeFileSync(join(directory, name), '')
      utimesSync(join(directory, name), 0, 0)
    }
    expect([open().take(KEY), open().take(KEY)]).toEqual([FIRST, undefined])
    open().end(KEY, FIRST)
    expect(files().sort()).toEqual(strange.sort())
  })
})

describe('concurrent runs', () => {
  it('never take the same call, and take all of them', async () => {
    const many = Array.from({ length: 200 }, () => crypto.randomUUID())
    for (const id of many) open().leave(KEY, id)
    expect((await takenByProcesses(4)).sort()).toEqual(many.sort())
  })

  it('concurrent runs do not leave the same call twice', () => {
    open().leave(KEY, FIRST)
    open().leave(KEY, FIRST)
    expect([files(), notes]).toEqual([[`${KEY}.${FIRST}`], []])
  })
})

describe('a waiting call on disk', () => {
  it('belongs to its own process until that leaves it', () => {
    open().hold(KEY, FIRST)
    open().hold(KEY, FIRST)
    expect([files(), open().take(KEY)]).toEqual([[`${KEY}.${FIRST}.${process.pid}`], undefined])
    expect(open().leave(KEY, FIRST)).toBe(true)
    expect([open().take(KEY), open().take(KEY)]).toEqual([FIRST, undefined])
  })

  it('keeps the id of its thread once it is known', () => {
    const THREAD = 'thr_01J00000000000000000000000'
    open().hold(KEY, FIRST)
    open().hold(KEY, FIRST, THREAD)
    open().hold(KEY, FIRST, 'thr_other')
    expect(open().threadOf(KEY, SECOND)).toBeUndefined()
    open().leave(KEY, FIRST)
    expect(open().threadOf(KEY, FIRST)).toBeUndefined()
    expect([open().take(KEY), open().threadOf(KEY, FIRST)]).toEqual([FIRST, THREAD])
    open().end(KEY, FIRST)
    writeFileSync(join(directory, `${KEY}.${SECOND}`), '../../threads')
    expect([open().take(KEY), open().threadOf(KEY, SECOND), notes]).toEqual([SECOND, undefined, []])
    open().end(KEY, SECOND)
  })

  it('is removed when it is decided', () => {
    open().hold(KEY, FIRST)
    open().end(KEY, FIRST)
    open().end(KEY, SECOND)
    expect([files(), open().take(KEY), notes]).toEqual([[], undefined, []])
  })

  it('is resumed when its process was killed, even if another process has its id now', async () => {
    const text = script(`
      open().hold(${JSON.stringify(KEY)}, ${JSON.stringify(FIRST)})
      process.kill(process.pid, 'SIGKILL')`)
    const killed = spawn(process.execPath, ['--input-type=module', '-e', text], { stdio: 'ignore' })
    const [, signal] = (await once(killed, 'exit')) as [unknown, unknown]
    expect([signal, files()]).toEqual(['SIGKILL', [`${KEY}.${FIRST}.${killed.pid}`]])
    writeFileSync(join(directory, `${KEY}.${SECOND}.${process.pid}`), '')
    expect([open().take(KEY), open().take(KEY), open().take(KEY)]).toEqual([FIRST, SECOND, undefined])
  })

  it('is kept while its process runs, however long', () => {
    open().hold(KEY, FIRST)
    const other = `${KEY}.${SECOND}.${process.ppid}`
    writeFileSync(join(directory, other), '')
    for (const name of files()) utimesSync(join(directory, name), 0, 0)
    expect([open().take(KEY), files().length]).toEqual([undefined, 2])
  })
})

const script = (text: string): string => `
  import { openUnfinished } from ${JSON.stringify(new URL('../../dist/system/unfinished.js', import.meta.url).href)}
  const note = (text) => { throw new Error(text) }
  const directory = () => ${JSON.stringify(directory)}
  const open = () => openUnfinished({ directory, keptMs: 86_400_000, now: Date.now, note })
  ${text}`

/**
 * Lets several processes take ids until no id is left. They all end after the last has printed its ids: others may
 * take the entries of a dead process.
 */
async function takenByProcesses(count: number): Promise<string[]> {
  const text = script(`
    const taken = []
    for (let id; (id = open().take(${JSON.stringify(KEY)})) !== undefined; ) taken.push(id)
    console.log(taken.join(' '))
    process.stdin.resume()`)
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', text], { stdio: ['pipe', 'pipe', 'inherit'] }),
  )
  const told = children.map(async ({ stdout }) => {
    let line = ''
    while (!line.endsWith('\n')) line += String((await once(stdout, 'data'))[0])
    return line
      .trim()
      .split(' ')
      .filter((id) => id !== '')
  })
  const taken = await Promise.all(told)
  await Promise.all(children.map((child) => (child.stdin.end(), once(child, 'exit'))))
  return taken.flat()
}

describe('a directory that cannot be used', () => {
  const unusable: [string, () => void, string][] = [
    [
      'that others may write to',
      () => {
        mkdirSync(directory, { recursive: true })
        chmodSync(directory, 0o770)
      },
      '0700',
    ],
    [
      'that is a file',
      () => {
        mkdirSync(join(directory, '..'), { recursive: true })
        writeFileSync(directory, '')
      },
      'EEXIST',
    ],
    [
      'that leads nowhere',
      () => {
        mkdirSync(join(directory, '..'), { recursive: true })
        symlinkSync('nowhere', directory)
      },
      'ENOENT',
    ],
  ]
  it.each(unusable)('%s is reported, and the call opens a new thread', (_, spoil, why) => {
    spoil()
    open().leave(KEY, FIRST)
    expect(open().take(KEY)).toBeUndefined()
    expect(notes).toHaveLength(2)
    expect(notes.join()).toContain(why)
  })

  it('is reported when its place is unknown', () => {
    const lost = openUnfinished({
      directory: () => {
        throw new Error('no home')
      },
      keptMs: HOUR,
      now: () => 0,
      note: (text) => notes.push(text),
    })
    expect([lost.take(KEY), notes.join()]).toEqual([undefined, expect.stringContaining('no home')])
  })
})
