import { mkdtempSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readDirectoryAlone } from '../../../src/policy/bundle/directory-alone.ts'
import { loadBundle } from '../../../src/policy/bundle/directory.ts'
import { READS_APART_MS, watchBundle } from '../../../src/policy/bundle/watch.ts'
import { BUNDLE } from '../../bundle.ts'
import { writeBundle } from '../../gateway-fixture.ts'

/** The directory of a bundle that does not load. */

let dir: string
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'countersign-alone-'))
  await writeBundle(dir, { ...BUNDLE, 'routing.yaml': 'no such file' })
})
afterEach(() => rmSync(dir, { recursive: true }))

const DIRECTORY = BUNDLE['directory.yaml'] ?? ''
const BEN = '      ben:  { name: Ben Bay, groups: [desk, board] }\n'
const LEFT = DIRECTORY.replace(BEN, '')
const write = (text: string, path = 'directory.yaml'): Promise<void> => writeFile(join(dir, path), text)
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

describe('a directory by itself', () => {
  it('is read with the digest of its bytes, whatever is wrong with other files', async () => {
    await write(LEFT)
    const alone = await readDirectoryAlone(dir)
    expect(alone?.digest).toBe(sha256(LEFT))
    expect([...(alone?.directory.tenants.get('acme')?.reviewers.keys() ?? [])]).not.toContain('ben')
  })

  it.each([
    ['is cut in the middle of an entry', DIRECTORY.slice(0, DIRECTORY.indexOf('groups: [desk, board]'))],
    [
      'is cut at the end of a line, before the owners of its agents',
      DIRECTORY.split('    reviewers:')[0] ?? '',
    ],
    ['is empty', ''],
    ['has lost all reviewers', DIRECTORY.replace(/^ {4}reviewers:\n(?: {6}.*\n)+/gm, '')],
    ['lists a reviewer twice', DIRECTORY.replace(BEN, BEN + BEN)],
  ])('counts for nothing when it %s', async (_, text) => {
    await write(text)
    expect(await readDirectoryAlone(dir)).toBeUndefined()
  })

  it('counts only as the file that the manifest names', async () => {
    await write(LEFT)
    const locked = (text: string): string => `${sha256(text)}  directory.yaml\n${sha256('x')}  gone.yaml\n`
    for (const [lock, isOurs] of [
      [locked(LEFT), true],
      [locked(DIRECTORY), false],
      ['# nothing is locked\n', false],
      [`${locked(LEFT)}no line\n`, false],
    ] as const) {
      await write(lock, 'countersign.lock')
      expect([lock, (await readDirectoryAlone(dir)) !== undefined]).toEqual([lock, isOurs])
    }
  })
})

describe('the watch of a bundle that does not load', () => {
  it('hands out the directory when two reads three seconds apart find the same file', async () => {
    let now = 0
    const found: string[] = []
    const watch = watchBundle(dir, {
      load: () => loadBundle(dir),
      onLoaded: () => undefined,
      onFailed: () => undefined,
      onWithdrawn: ({ digest }) => void found.push(digest),
      rescanMs: 3_600_000,
      clock: { setTimeout, clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout), now: () => now },
    })
    await watch.ready
    const checkAfter = async (ms: number): Promise<string[]> => {
      now += ms
      await watch.check()
      return found.splice(0)
    }
    expect(await checkAfter(READS_APART_MS - 1)).toEqual([])
    await write(LEFT)
    expect(await checkAfter(1)).toEqual([])
    expect(await checkAfter(READS_APART_MS - 1)).toEqual([])
    await write('another file is broken too', 'rules/pay.yaml')
    expect(await checkAfter(1)).toEqual([sha256(LEFT)])
    await write(LEFT.slice(0, -20))
    expect(await checkAfter(0)).toEqual([])
    expect(await checkAfter(READS_APART_MS)).toEqual([])
    await watch.close()
  })
})
