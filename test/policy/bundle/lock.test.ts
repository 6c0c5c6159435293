import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { loadBundle, readBundle } from '../../../src/policy/bundle/directory.ts'
import type { LoadResult } from '../../../src/policy/bundle/load.ts'
import { LOCK_FILE, printLock, verifyLock, type Digest } from '../../../src/policy/bundle/lock.ts'
import { IS_LONG } from '../../runs.ts'
import { bundle, rules, tempDir, writeFiles, type Files } from '../support.ts'
import { spawnSync } from '../../sync-child.ts'

const POLICIES = fileURLToPath(new URL('../../../policies', import.meta.url))
const STARTER: Files = Object.fromEntries(
  readdirSync(POLICIES, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.yaml'))
    .map((path) => [path, readFileSync(join(POLICIES, path), 'utf8')]),
)

const digest = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')
const digests = (files: Files): readonly Digest[] =>
  Object.entries(files).map(([path, text]) => ({ path, sha256: digest(text) }))
const locked = (files: Files): Files => ({ ...files, [LOCK_FILE]: printLock(digests(files)) })
const dirWith = (files: Files): string => {
  const dir = tempDir()
  writeFiles(dir, files)
  return dir
}
const codes = (result: LoadResult | { ok: false; diagnostics: readonly { file: string; code: string }[] }) =>
  result.ok ? ['ok'] : result.diagnostics.map((one) => `${one.file} ${one.code}`)

describe('a bundle with a manifest', () => {
  it('loads when it is exactly the locked bundle, with the same revision as without a manifest', async () => {
    const [plain, guarded] = [
      await loadBundle(dirWith(bundle())),
      await loadBundle(dirWith(locked(bundle()))),
    ]
    if (!plain.ok || !guarded.ok) throw new Error('a load failed')
    expect(guarded.snapshot.revision).toBe(plain.snapshot.revision)
    expect(guarded.snapshot.files).toEqual(plain.snapshot.files)
  })

  it.each<[string, (dir: string) => void, string]>([
    ['a file that is missing', (dir) => rmSync(join(dir, 'rules/pay.yaml')), 'rules/pay.yaml lock-mismatch'],
    [
      'one too many',
      (dir) => writeFiles(dir, { 'rules/more.yaml': rules('  - { id: x, allow: A. }\n') }),
      'rules/more.yaml lock-mismatch',
    ],
    [
      'another content',
      (dir) => writeFiles(dir, { 'rules/pay.yaml': rules('  - { id: pay-small, allow: All. }\n') }),
      'rules/pay.yaml lock-mismatch',
    ],
    [
      'a renamed file',
      (dir) => {
        rmSync(join(dir, 'rules/pay.yaml'))
        writeFiles(dir, { 'rules/b.yaml': bundle()['rules/pay.yaml'] ?? '' })
      },
      'rules/b.yaml lock-mismatch',
    ],
    ['an empty manifest', (dir) => writeFileSync(join(dir, LOCK_FILE), ''), 'routing.yaml lock-mismatch'],
    [
      'a manifest that is none',
      (dir) => writeFileSync(join(dir, LOCK_FILE), 'sorry\n'),
      'countersign.lock bad-lock',
    ],
    [
      'a manifest that names a file twice',
      (dir) =>
        writeFileSync(
          join(dir, LOCK_FILE),
          `${locked(bundle())[LOCK_FILE]}${'0'.repeat(64)}  routing.yaml\n`,
        ),
      'countersign.lock bad-lock',
    ],
    [
      'a manifest that leads nowhere',
      (dir) => {
        rmSync(join(dir, LOCK_FILE))
        symlinkSync('nowhere', join(dir, LOCK_FILE))
      },
      'countersign.lock file-unreadable',
    ],
    [
      'a manifest that leads out of the bundle',
      (dir) => {
        rmSync(join(dir, LOCK_FILE))
        symlinkSync('/etc/passwd', join(dir, LOCK_FILE))
      },
      'countersign.lock file-unreadable',
    ],
    [
      'a folder for a manifest',
      (dir) => {
        rmSync(join(dir, LOCK_FILE))
        mkdirSync(join(dir, LOCK_FILE))
      },
      'countersign.lock file-unreadable',
    ],
    [
      'a manifest without end',
      (dir) => writeFileSync(join(dir, LOCK_FILE), '#'.repeat(2 * 1024 * 1024 + 1)),
      'countersign.lock file-too-large',
    ],
  ])('is refused with %s', async (_, change, wanted) => {
    const dir = dirWith(locked(bundle()))
    change(dir)
    expect(codes(await loadBundle(dir))).toContain(wanted)
    expect((await readBundle(dir)).ok).toBe(false)
  })

  it('has a manifest that sha256sum can check', () => {
    const dir = dirWith(locked(bundle()))
    const { status, stdout } = spawnSync('sha256sum', ['-c', LOCK_FILE], { cwd: dir })
    expect([status, stdout.trimEnd().split('\n').length]).toEqual([0, 4])
  })
})

describe('truncation', () => {
  const lock = printLock(digests(STARTER))

  it('a change of a starter file at any byte never matches the manifest', () => {
    let points = 0
    for (const [path, text] of Object.entries(STARTER)) {
      const bytes = Buffer.from(text)
      const others = digests(STARTER).filter((one) => one.path !== path)
      for (let end = 0; end < bytes.length; end++, points++) {
        const found = verifyLock(lock, [...others, { path, sha256: digest(bytes.subarray(0, end)) }])
        if (found.length !== 1 || found[0]?.file !== path)
          throw new Error(`${path} cut at ${end} is accepted`)
      }
    }
    expect(points).toBeGreaterThan(15_000)
  })

  it('a change of the manifest at any byte makes it match nothing', () => {
    for (let end = 0; end < lock.length - 1; end++)
      if (verifyLock(lock.slice(0, end), digests(STARTER)).length === 0) throw new Error(`cut at ${end}`)
    // Only the line feed at its end says nothing.
    expect(verifyLock(lock.slice(0, -1), digests(STARTER))).toEqual([])
  })

  it(
    'a change on disk is refused too, while without a manifest a bundle may load without its last rules',
    async () => {
      const dir = dirWith(locked(STARTER))
      let accepted = 0
      for (const [path, text] of Object.entries(STARTER)) {
        const bytes = Buffer.from(text)
        const step = IS_LONG ? 1 : Math.ceil(bytes.length / 4)
        for (let end = 0; end < bytes.length; end += step) {
          writeFileSync(join(dir, path), bytes.subarray(0, end))
          expect(codes((await readBundle(dir)) as never)).toEqual([`${path} lock-mismatch`])
        }
        writeFileSync(join(dir, path), bytes)
      }
      rmSync(join(dir, LOCK_FILE))
      const path = 'rules/web.fetch.yaml'
      const text = STARTER[path] ?? ''
      for (const end of [...text.matchAll(/\n {2}- /g)].map(({ index }) => index + 1)) {
        writeFileSync(join(dir, path), text.slice(0, end))
        if ((await loadBundle(dir)).ok) accepted++
      }
      expect(accepted).toBeGreaterThan(0)
    },
    IS_LONG ? 3_600_000 : 60_000,
  )

  it('a manifest stays readable with the line endings that git writes on some machines', () => {
    const lock = printLock(digests(STARTER))
    expect(verifyLock(lock.replaceAll('\n', '\r\n'), digests(STARTER))).toEqual([])
    expect(verifyLock(lock.replaceAll('\n', '\r'), digests(STARTER))).not.toEqual([])
  })
})
