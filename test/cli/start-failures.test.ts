import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openEmbeddedStore } from '../../src/store/embedded/store.ts'
import { MAIN, startProcess } from '../crash.ts'
import { until } from '../until.ts'
import { startRedis } from '../redis/server.ts'
import { type CliRun, runCli } from './run.ts'

/** The message that a person reads at night when a gateway does not start: what is wrong, where, and what to do. */

const STARTER = fileURLToPath(new URL('../../policies', import.meta.url))
const KEY_LINE = /^admin key \(shown once, keep it\): (csa_[\w-]{43})$/m

let directory: string
/** A bundle without tools, which loads fast. */
let policies: string
let taken: Server
let takenPort: string

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cs-start-'))
  policies = join(directory, 'empty/policies')
  await runCli(['init', join(directory, 'empty'), '--empty'], { cwd: directory })
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
  const free = ['--port', '0', '--metrics-port', '0', '--policies', policies]
  // the last value of a flag wins
  return runCli([command, '--store', store, ...free, ...flags], { cwd: directory })
}

describe('the admin key of a new store', () => {
  /** The key of the first store, as `serve` has shown it. */
  let key: string | undefined

  it.each([
    ['serve', '--port'],
    ['serve', '--metrics-port'],
    ['dev', '--port'],
  ])('%s also shows the key when the port of %s is in use: no later start can', async (command, flag) => {
    const { code, err } = await start(command, at(`${command}${flag}`), flag, takenPort)
    expect(code).toBe(1)
    expect(err).toMatch(KEY_LINE)
    key ??= KEY_LINE.exec(err)?.[1]
    expect(err).toContain('EADDRINUSE')
  })

  it('dev also shows the key when the policies do not load', async () => {
    mkdirSync(join(directory, 'wrong'))
    writeFileSync(join(directory, 'wrong', 'routing.yaml'), 'nonsense: [\n')
    const { code, err } = await start('dev', at('unloaded'), '--policies', 'wrong')
    expect([code, KEY_LINE.test(err)]).toEqual([1, true])
  })

  it('is valid at the next start, which does not show it', async () => {
    const store = at('serve--port')
    const flags = ['--store', store, '--port', '0', '--metrics-port', '0', '--policies', policies]
    const gateway = startProcess(MAIN, ['serve', ...flags])
    const url = /"url":"([^"]+)"/.exec(
      await gateway.lineWhere((line) => line.includes('"msg":"listening"')),
    )?.[1]
    const answer = await fetch(`${url}/api/admin/policies`, { headers: { authorization: `Bearer ${key}` } })
    const { errors } = await gateway.kill('SIGTERM')
    expect([answer.status, errors]).toEqual([200, ''])
  })
})

describe('a gateway that does not start', () => {
  /** Runs the command as another user than root, because root may write everywhere. */
  const NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']

  it('names a directory that it cannot write or create, and what to do', async () => {
    chmodSync(directory, 0o755)
    for (const [name, said] of [
      ['read-only', 'cannot be written: EACCES'],
      ['read-only/below', 'cannot be made: EACCES'],
    ] as const) {
      mkdirSync(join(directory, 'read-only'), { recursive: true })
      const flags = ['--store', at(name), '--port', '0', '--metrics-port', '0', '--policies', policies]
      const { ended } = startProcess(MAIN, ['serve', ...flags], { through: NOBODY })
      const { code, errors } = await ended
      expect(code).toBe(1)
      expect(errors).toContain(
        `countersign: cannot start: the data directory ${join(directory, name)} ${said}`,
      )
      expect(errors).toContain('give it to the user that runs the gateway')
    }
  })

  it.each(['store.json', 'store.mdb'])(
    'names the user who must own a %s that root restored by hand, and so does the doctor',
    async (name) => {
      chmodSync(directory, 0o755)
      const path = mkdtempSync(join(directory, 'put-back-'))
      await (await openEmbeddedStore({ path })).close()
      rmSync(join(path, 'lock.1.sock'))
      for (const one of ['.', 'store.json', 'store.mdb', 'store.mdb-lock'])
        chownSync(join(path, one), 65534, 65534)
      chownSync(join(path, name), 0, 0)
      const flags = ['--store', `file:${path}`, '--port', '0', '--metrics-port', '0', '--policies', policies]
      const hint = `give all files in ${path} to the user that runs the gateway`
      const started = await startProcess(MAIN, ['serve', ...flags], { through: NOBODY }).ended
      expect(started.errors).toContain(`/${name}'\n\n${hint}`)
      const examined = await startProcess(MAIN, ['doctor', ...flags], { through: NOBODY }).ended
      expect(examined.lines.join('\n')).toContain(`/${name}' -> ${hint}`)
    },
  )

  it('names the policy directory that it cannot read', async () => {
    chmodSync(directory, 0o755)
    const closed = mkdtempSync(join(directory, 'policies-'))
    chmodSync(closed, 0o755)
    cpSync(STARTER, closed, { recursive: true })
    chmodSync(join(closed, 'rules'), 0o700)
    const { errors, lines } = await startProcess(MAIN, ['check', closed], { through: NOBODY }).ended
    expect(errors + lines.join('\n')).toContain(
      `the bundle cannot be read: \`${join(closed, 'rules')}\`: EACCES`,
    )
  })

  it('reports a read-only file system, and so does the doctor', async () => {
    mkdirSync(join(directory, 'mounted'))
    const script = `cd ${directory} && mount -t tmpfs -o ro tmpfs mounted && exec "$@"`
    const through = ['unshare', '-m', 'sh', '-c', script, 'sh']
    const flags = ['--store', at('mounted'), '--port', '0', '--metrics-port', '0', '--policies', policies]
    const hint = 'its file system is read-only: mount it as writable'
    const started = await startProcess(MAIN, ['serve', ...flags], { through }).ended
    expect(started.errors).toMatch(/cannot be written: EROFS\n\n/)
    expect(started.errors).toContain(`${hint}, or name another with --store file:DIRECTORY\n`)
    const examined = await startProcess(MAIN, ['doctor', ...flags], { through }).ended
    expect(examined.lines.filter((line) => line.includes(' store '))).toEqual([
      expect.stringContaining(`cannot be written: EROFS -> ${hint}`),
    ])
  })

  it.runIf(existsSync('/proc/self'))('reports another reason why a directory cannot be created', async () => {
    const { code, err } = await start('serve', 'file:/proc/countersign')
    expect([code, err]).toEqual([1, expect.stringContaining('/proc/countersign cannot be made: ENOENT')])
  })

  it('reports a broken link, such as to an unmounted disk, and so does the doctor', async () => {
    symlinkSync(join(directory, 'not-mounted'), join(directory, 'link'))
    const { code, err } = await start('serve', at('link'))
    expect(code).toBe(1)
    expect(err).toMatch(/\/link cannot be made: ENOENT[^\n]*\n\n.* a link, create or mount its target/)
    const flags = ['--store', at('link'), '--port', '0', '--metrics-port', '0', '--policies', policies]
    const examined = await startProcess(MAIN, ['doctor', ...flags]).ended
    expect(examined.lines.filter((line) => line.includes(' store '))).toEqual([
      expect.stringMatching(/\/link is a link to a missing place -> .* create or mount its target$/),
    ])
  })

  it('reports a file in place of the data directory', async () => {
    writeFileSync(join(directory, 'file'), '')
    const { code, err } = await start('serve', at('file'))
    expect(code).toBe(1)
    expect(err).toMatch(
      /the data directory \S+\/file is no directory\n\nmove the file at that path away, .* with --store file:DIRECTORY/,
    )
  })

  it('names an address that is not of this machine', async () => {
    const { err } = await start('serve', at('no-address'), '--host', '192.0.2.1')
    expect(err).toContain('name an address of this machine with --host')
  })

  it.each([
    ['redis://127.0.0.1:1', 'ECONNREFUSED', 'start Redis, or fix the connection to it'],
    ['redis+sentinel://127.0.0.1:1/main', 'no sentinel that answers', 'sentinel masters'],
    ['redis+cluster://127.0.0.1:1', 'no node of the cluster answers', 'redis-cli cluster info'],
  ])('says what to check when Redis is unavailable: %s', async (store, said, hint) => {
    const { code, err } = await start('serve', store)
    const [what, , todo, ...more] = err.split('\n')
    expect([code, more]).toEqual([1, ['']])
    expect(what).toMatch(new RegExp(`^countersign: cannot start: .*${said}`))
    expect(todo).toContain(hint)
    const check = await runCli(['store', 'check', '--store', store], { cwd: directory })
    expect(check.err).toContain(hint)
  })

  it('reports a missing password of Redis, and TLS to a port without TLS', async () => {
    const locked = await startRedis({ config: { requirepass: 'canary' } })
    const [none, wrong, tls] = await Promise.all([
      start('serve', locked.url),
      start('serve', locked.url, '--store-password', 'another'),
      start('serve', locked.url.replace('redis:', 'rediss:')),
    ])
    await locked.dispose()
    for (const { err } of [none, wrong]) expect(err).toContain('COUNTERSIGN_STORE_PASSWORD_FILE')
    expect(tls.err).toContain('does it use TLS (rediss://) or not (redis://)?')
  })

  it('says what to do with a store of another format', async () => {
    mkdirSync(join(directory, 'newer'))
    writeFileSync(join(directory, 'newer', 'store.json'), '{"format":1,"store":"x"}\n')
    const { code, err } = await start('serve', at('newer'))
    expect(code).toBe(1)
    expect(err).toContain(
      'has the format `1`, and this program reads `countersign/5` only: use the version that wrote it',
    )
  })

  it('says that a data file needs a backup when its first pages are cut off', async () => {
    const store = at('cut')
    await start('serve', store, '--port', takenPort)
    truncateSync(join(directory, 'cut', 'store.mdb'), 2 * 4096)
    const { code, err } = await start('serve', store)
    expect(code).toBe(1)
    expect(err).toMatch(/cannot start: .*: restore it from a backup$/m)
  })

  it('reports an unknown option without advice about files that begin with a dash', async () => {
    for (const command of ['serve', 'review']) {
      const { code, err } = await runCli([command, '--nonsense'], { cwd: directory })
      expect([code, err]).toEqual([2, "countersign: Unknown option '--nonsense'\n"])
    }
  })

  it('names a missing policy directory, in the log too', async () => {
    const check = await runCli(['check', 'nowhere'], { cwd: directory })
    expect(check.out).toContain(
      'bundle-unreadable: the bundle cannot be read: there is no directory `nowhere`',
    )
    const file = await runCli(['check', join(STARTER, 'routing.yaml')], { cwd: directory })
    expect(file.out).toMatch(/`\S+routing\.yaml` is a file; name the directory that holds routing\.yaml$/m)
    const flags = ['--store', at('unpoliced'), '--port', '0', '--metrics-port', '0', '--policies', 'nowhere']
    const gateway = startProcess(MAIN, ['serve', ...flags])
    const line = await gateway.lineWhere((one) => one.includes('policies not loaded'))
    await gateway.kill('SIGTERM')
    expect(JSON.parse(line)).toMatchObject({ policies: 'nowhere' })
  })
})

describe('a gateway that gets a signal while it starts', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('%s ends it as it ends a running gateway', async (signal) => {
    const flags = ['--port', '0', '--metrics-port', '0', '--policies', STARTER]
    const gateway = startProcess(MAIN, ['serve', '--store', at(signal), ...flags])
    await until(() => Promise.resolve(existsSync(join(directory, signal))))
    const { code, lines } = await gateway.kill(signal)
    expect([code, JSON.parse(lines.at(-1) ?? '{}')]).toEqual([0, expect.objectContaining({ msg: 'stopped' })])
  })

  it('`npm start` also ends on a signal while it starts', async () => {
    const flags = ['--port', '0', '--metrics-port', '0', '--policies', STARTER]
    const gateway = startProcess(MAIN, ['dev', '--store', at('stopped-early'), ...flags])
    await until(() => Promise.resolve(existsSync(join(directory, 'stopped-early'))))
    const { code, lines } = await gateway.kill('SIGTERM')
    expect([code, lines.at(-1)]).toEqual([0, 'stopping; everything that was answered is on disk'])
  })
})
