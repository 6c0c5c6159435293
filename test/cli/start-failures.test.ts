import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startProcess } from '../crash.ts'
import { type CliRun, runCli } from './run.ts'

/** What a person reads at night when a gateway does not start: what is wrong, where, and what to do. */

const MAIN = fileURLToPath(new URL('../../dist/bin/main.js', import.meta.url))
const STARTER = fileURLToPath(new URL('../../policies', import.meta.url))
const KEY_LINE = /^admin key \(shown once, keep it\): (csa_[\w-]{43})$/m

let directory: string
let taken: Server
let takenPort: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cs-start-'))
  taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  takenPort = String((taken.address() as AddressInfo).port)
})
afterAll(() => {
  taken.close()
  rmSync(directory, { recursive: true, force: true })
})

const at = (name: string): string => `file:${join(directory, name)}`

function start(command: string, store: string, ...flags: string[]): Promise<CliRun> {
  const free = ['--port', '0', '--metrics-port', '0', '--policies', STARTER]
  // a flag that comes later wins
  return runCli([command, '--store', store, ...free, ...flags], { cwd: directory })
}

describe('the admin key of a new store', () => {
  it.each([
    ['serve', '--port'],
    ['serve', '--metrics-port'],
    ['quickstart', '--port'],
  ])('%s shows it also when the port of %s is taken: no later start can', async (command, flag) => {
    const { code, err } = await start(command, at(`${command}${flag}`), flag, takenPort)
    expect(code).toBe(1)
    expect(err).toMatch(KEY_LINE)
    expect(err).toContain('EADDRINUSE')
  })

  it('quickstart shows it also when the policies do not load', async () => {
    mkdirSync(join(directory, 'wrong'))
    writeFileSync(join(directory, 'wrong', 'routing.yaml'), 'nonsense: [\n')
    const { code, err } = await start('quickstart', at('unloaded'), '--policies', 'wrong')
    expect([code, KEY_LINE.test(err)]).toEqual([1, true])
  })

  it('is the one that the next start takes, which does not show it', async () => {
    const store = at('again')
    const { err } = await start('serve', store, '--port', takenPort)
    const key = KEY_LINE.exec(err)?.[1] ?? ''
    const gateway = startProcess(MAIN, [
      'serve',
      ...['--store', store, '--port', '0', '--metrics-port', '0', '--policies', STARTER],
    ])
    const url = /"url":"([^"]+)"/.exec(await gateway.lineWhere((line) => line.includes('"msg":"listening"')))?.[1]
    const answer = await fetch(`${url}/api/admin/policies`, { headers: { authorization: `Bearer ${key}` } })
    const { errors } = await gateway.kill('SIGTERM')
    expect([answer.status, errors]).toEqual([200, ''])
  })
})
