import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { createHash } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readBundle, type ReadOptions, type ReadResult } from '../../../src/policy/bundle/directory.ts'
import { LOCK_FILE, printLock } from '../../../src/policy/bundle/lock.ts'
import { IS_LONG } from '../../runs.ts'
import { bundle, rules, tempDir, writeFiles, type Files } from '../support.ts'

/**
 * A bundle is read while another thread changes it, in every way that deployments do. A read never mixes two versions.
 */
const READS = Number(process.env['COUNTERSIGN_TEST_READS'] ?? (IS_LONG ? 50_000 : 100))
const TIMEOUT_MS = IS_LONG ? 7_200_000 : 120_000

const version = (n: number): Files => {
  const rule = (id: string): string => rules(`  - { id: v${n}-${id}, allow: ${'A. '.repeat(200)} }\n`)
  return bundle({
    'directory.yaml': `# v${n}\n${bundle()['directory.yaml']}`,
    'routing.yaml': `# v${n}\n${bundle()['routing.yaml']}`,
    'tools/pay.yaml': `# v${n}\n${bundle()['tools/pay.yaml']}`,
    'rules/pay.yaml': rule('pay'),
    ...Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`rules/f${i}.yaml`, rule(`f${i}`)])),
  })
}
const withLock = (files: Files): Files => ({
  ...files,
  [LOCK_FILE]: printLock(
    Object.entries(files).map(([path, text]) => ({
      path,
      sha256: createHash('sha256').update(text).digest('hex'),
    })),
  ),
})

/** Runs `body` (JavaScript; `fs`, `dir`, `files`, `turn`, `pause()`) again and again in a thread of its own. */
function change(dir: string, body: string, files: readonly Files[] = []): Worker {
  const source = `
    const fs = require('node:fs')
    const { join } = require('node:path')
    const { dir, files } = require('node:worker_threads').workerData
    const cell = new Int32Array(new SharedArrayBuffer(4))
    const pause = (ms) => Atomics.wait(cell, 0, 0, ms)
    for (let turn = 1; ; turn++) { ${body} }`
  const worker = new Worker(source, { eval: true, workerData: { dir, files } })
  onTestFinished(async () => void (await worker.terminate()))
  return worker
}

interface Seen {
  readonly whole: readonly number[]
  readonly mixed: number
  readonly refused: number
}

const PATIENCE_MS = 60_000

/**
 * Reads `reads` times, and continues until it has met both versions often enough. Then the bundle has changed during
 * the reads.
 */
async function readMany(dir: string, reads: number, options: ReadOptions = {}): Promise<Seen> {
  const whole = [0, 0]
  const versions = [version(0), version(1)]
  let [mixed, refused] = [0, 0]
  const deadline = performance.now() + PATIENCE_MS
  const unmet = (): boolean => reads > 1 && Math.min(...whole) <= reads / 100 && performance.now() < deadline
  for (let n = 0; n < reads || unmet(); n++) {
    const result = await readBundle(dir, options)
    const found = result.ok ? versions.findIndex((files) => isWhole(result, files)) : undefined
    if (found === undefined) refused++
    else if (found < 0) mixed++
    else whole[found] = (whole[found] ?? 0) + 1
  }
  return { whole, mixed, refused }
}

function isWhole(result: ReadResult & { readonly ok: true }, files: Files): boolean {
  const paths = Object.keys(files).filter((path) => path !== LOCK_FILE)
  return result.texts.length === paths.length && result.texts.every(({ path, text }) => files[path] === text)
}

function expectWhole({ whole, mixed }: Seen, reads: number): void {
  expect(mixed).toBe(0)
  expect(Math.min(...whole)).toBeGreaterThan(reads / 100)
}

describe('reading a bundle while it is changed', () => {
  it(
    `${READS} times through a link that changes, as with git-sync, never mixes versions`,
    async () => {
      const dir = tempDir()
      for (const n of [0, 1]) writeFiles(join(dir, `v${n}`), version(n))
      symlinkSync('v0', join(dir, 'link'))
      change(
        dir,
        "fs.symlinkSync('v' + (turn % 2), join(dir, 'next')); fs.renameSync(join(dir, 'next'), join(dir, 'link')); pause(15)",
      )
      expectWhole(await readMany(join(dir, 'link'), READS), READS)
    },
    TIMEOUT_MS,
  )

  it(
    `${READS} times through a ..data that changes, as with a ConfigMap, never mixes versions`,
    async () => {
      const dir = tempDir()
      for (const n of [0, 1]) writeFiles(join(dir, `..v${n}`), version(n))
      symlinkSync('..v0', join(dir, '..data'))
      for (const name of ['routing.yaml', 'directory.yaml', 'tools', 'rules'])
        symlinkSync(join('..data', name), join(dir, name))
      change(
        dir,
        "fs.symlinkSync('..v' + (turn % 2), join(dir, '..next')); fs.renameSync(join(dir, '..next'), join(dir, '..data')); pause(15)",
      )
      expectWhole(await readMany(dir, READS), READS)
    },
    TIMEOUT_MS,
  )

  it(
    'never mixes versions of a directory that is replaced',
    async () => {
      const dir = tempDir()
      const reads = Math.ceil(READS / 5)
      mkdirSync(join(dir, 'away'))
      writeFiles(join(dir, 'now'), version(0))
      writeFiles(join(dir, 'away/next'), version(1))
      change(
        dir,
        "fs.renameSync(join(dir, 'now'), join(dir, 'away/last')); fs.renameSync(join(dir, 'away/next'), join(dir, 'now')); fs.renameSync(join(dir, 'away/last'), join(dir, 'away/next')); pause(40)",
      )
      expectWhole(await readMany(join(dir, 'now'), reads), reads)
    },
    TIMEOUT_MS,
  )

  it(
    'never reads half-written files when there is a manifest',
    async () => {
      const dir = tempDir()
      const reads = Math.ceil(READS / 5)
      const versions = [withLock(version(0)), withLock(version(1))]
      writeFiles(dir, versions[0] as Files)
      // Longer than a file must be at rest before it is read. Without the manifest the reader would take some halves
      // for whole files.
      const slowly = `
      const next = files[turn % 2]
      for (const [path, text] of Object.entries(next)) {
        fs.writeFileSync(join(dir, path), text.slice(0, text.length / 2))
        pause(turn % 3 === 0 ? 30 : 1)
        fs.writeFileSync(join(dir, path), text)
      }
      pause(120)`
      change(dir, slowly, versions)
      expectWhole(await readMany(dir, reads), reads)
    },
    TIMEOUT_MS,
  )

  it('finds a mixture when there is one (the check itself can fail)', () => {
    const texts = Object.entries({ ...version(0), 'rules/pay.yaml': version(1)['rules/pay.yaml'] ?? '' })
    const result = {
      ok: true,
      texts: texts.map(([path, text]) => ({ path, text })),
      commit: undefined,
    } as const
    expect(isWhole(result, version(0)) || isWhole(result, version(1))).toBe(false)
  })
})
