import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { until } from '../gateway-fixture.ts'

const MAIN = fileURLToPath(new URL('../../dist/bin/main.js', import.meta.url))
const STARTER = fileURLToPath(new URL('../../policies', import.meta.url))
let directory: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'countersign-watch-'))
  await cp(STARTER, directory, { recursive: true })
})
afterAll(() => rm(directory, { recursive: true, force: true }))

it('`check --watch` says what it finds at once and after each change, and ends with what it found last', async () => {
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
  await until(() => out.includes('would not be loaded'))
  await writeFile(file, good)
  await until(() => out.split('fine: ').length === 3)
  await writeFile(file, 'levels: 7\n')
  await until(() => out.split('would not be loaded').length === 3)
  child.kill('SIGTERM')
  expect(await ended).toEqual([3, null])
})
