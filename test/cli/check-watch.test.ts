import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { MAIN, startProcess } from '../crash.ts'
import { throughFullPipe } from '../full-pipe.ts'
import { until } from '../until.ts'
import { runCli, runUnread } from './run.ts'

const STARTER = fileURLToPath(new URL('../../policies', import.meta.url))
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-watch-'))
  await cp(STARTER, directory, { recursive: true })
})
afterAll(() => rm(directory, { recursive: true, force: true }))

it('`check --watch` prints its findings at once and after each change, and exits with the last result', async () => {
  const child = spawn(process.execPath, [MAIN, 'check', directory, '--watch'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  const ended = once(child, 'exit')
  await until(() => out.includes('fine: '))
  const file = join(directory, 'routing.yaml')
  const good = await readFile(file, 'utf8')
  await writeFile(file, 'unmatched: [')
  await until(() => out.includes('would not load'))
  await writeFile(file, good)
  await until(() => out.split('fine: ').length === 3)
  await writeFile(file, 'levels: 7\n')
  await until(() => out.split('would not load').length === 3)
  child.kill('SIGTERM')
  expect(await ended).toEqual([3, null])
})

it('`test --watch` ends with the reason when its report cannot be written', async () => {
  const { code, out, err } = await runCli(['test', STARTER, '--watch', '--junit', 'nowhere/tests.xml'], {
    cwd: tmpdir(),
  })
  expect([code, out.split(' passed, ').length]).toEqual([1, 2])
  expect(err).toMatch(/^countersign: cannot write `nowhere\/tests.xml`: ENOENT: .*\n$/)
})

it('`check --watch` ends with its result when no process reads its output', async () => {
  expect(await runUnread(['check', directory, '--watch'], { cwd: tmpdir() })).toEqual({ code: 3, err: '' })
})

it('`test --watch` ends on a signal while its output waits for a reader', async () => {
  const report = join(directory, 'report.xml')
  const args = ['test', STARTER, '--watch', '--junit', report]
  const child = startProcess(MAIN, args, { through: throughFullPipe() })
  onTestFinished(() => void child.kill('SIGKILL'))
  await until(() => existsSync(report))
  expect(await child.kill('SIGTERM')).toMatchObject({ code: 0 })
})

it.skipIf(process.platform !== 'linux')(
  'reports a full disk under standard output, and exits 1',
  async () => {
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, [MAIN, 'schema', '--help'], { stdio: ['ignore', full, 'pipe'] })
    const err = text(child.stderr as Readable)
    expect(await once(child, 'exit')).toEqual([1, null])
    expect(await err).toBe(
      'countersign: standard output cannot be written: ENOSPC: no space left on device, write\n',
    )
  },
)
