import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAIN, startProcess } from '../crash.ts'
import { runCli } from './run.ts'

/** A service with a user of its own, as in deploy/systemd, whose store root looks after. */

const SERVICE = 65534
const AS_SERVICE = ['setpriv', `--reuid=${SERVICE}`, `--regid=${SERVICE}`, '--clear-groups']

let directory: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cs-owner-'))
  chmodSync(directory, 0o755)
  // a bundle without tools loads fast
  await runCli(['init', '.', '--empty'], { cwd: directory })
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

function ofTheService(name: string): string {
  const path = join(directory, name)
  mkdirSync(path, { mode: 0o700 })
  chownSync(path, SERVICE, SERVICE)
  return path
}

function startService(path: string): ReturnType<typeof startProcess> {
  const policies = join(directory, 'policies')
  const flags = ['--store', `file:${path}`, '--port', '0', '--metrics-port', '0', '--policies', policies]
  return startProcess(MAIN, ['serve', ...flags], { through: AS_SERVICE })
}

/** Starts the gateway as its own user, and stops it when it listens. */
async function serveOnce(path: string): Promise<void> {
  const gateway = startService(path)
  await gateway.lineWhere((line) => line.includes('"msg":"listening"'))
  expect((await gateway.kill('SIGTERM')).code).toBe(0)
}

const asRoot = async (...args: string[]): Promise<number | null> =>
  (await runCli(['store', ...args], { cwd: directory })).code

const owners = (path: string): number[] => [
  ...new Set(readdirSync(path).map((name) => statSync(join(path, name)).uid)),
]

describe('the store of a service with its own user', () => {
  it('opens again after root has checked it and made a backup', async () => {
    const path = ofTheService('kept')
    await serveOnce(path)
    for (const args of [['check'], ['export', join(directory, 'backup')]]) {
      expect(await asRoot(...args, '--store', `file:${path}`)).toBe(0)
      expect(owners(path)).toEqual([SERVICE])
      await serveOnce(path)
    }
  })

  it('opens after root has restored it into the directory of the service', async () => {
    const path = ofTheService('restored')
    expect(await asRoot('restore', join(directory, 'backup'), '--store', `file:${path}`)).toBe(0)
    expect(owners(path)).toEqual([SERVICE])
    await serveOnce(path)
  })

  it("gets LMDB's table of readers back when root opens a copy without it", async () => {
    const path = ofTheService('copied')
    await serveOnce(path)
    rmSync(join(path, 'store.mdb-lock'))
    expect(await asRoot('check', '--store', `file:${path}`)).toBe(0)
    expect(owners(path)).toEqual([SERVICE])
    await serveOnce(path)
  })

  it('is not reported as in use when the service may not signal the owner of its lock', async () => {
    const path = ofTheService('foreign')
    const root = createServer().listen(join(path, 'lock.7.sock'))
    await new Promise((resolve) => root.once('listening', resolve))
    chmodSync(join(path, 'lock.7.sock'), 0o755)
    const { code, errors } = await startService(path).ended
    await new Promise((resolve) => root.close(resolve))
    expect(code).toBe(1)
    expect(errors).toBe(
      'countersign: cannot start: the data directory has a lock of another user, `lock.7.sock`: remove it if that user runs no gateway here\n\n' +
        'give it to the user that runs the gateway, or name another with --store file:DIRECTORY\n',
    )
  })
})
