import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { DRAINING } from '../../src/http/server/shutdown.ts'
import { runCli } from '../cli/run.ts'
import { ensureProgram, INSTALL_MS, run } from '../debian.ts'
import { at, lines, read, temporaryDirectory } from './files.ts'

/** Exposure above which `systemd-analyze security` fails, in tenths: 1.5 of 10, "OK". */
const MAX_EXPOSURE = 15

const unit = read('deploy/systemd/countersign.service')
const dropIn = read('deploy/systemd/countersign.service.d/redis.conf')
const valuesOf = (key: string, text = unit): string[] =>
  lines(text)
    .filter((line) => line.startsWith(`${key}=`))
    .map((line) => line.slice(key.length + 1))

let directory: string

/** The unit with the paths of this machine, and a drop-in beside it. */
function install(name: string, { change = (text: string) => text, withRedis = false } = {}): string {
  const place = join(directory, name)
  mkdirSync(place)
  const here = unit
    .replace('/usr/bin/node', process.execPath)
    .replace('/opt/countersign/dist/bin/main.js', at('dist/bin/main.js'))
  const path = join(place, 'countersign.service')
  writeFileSync(path, change(here))
  if (withRedis)
    cpSync(at('deploy/systemd/countersign.service.d'), join(place, 'countersign.service.d'), {
      recursive: true,
    })
  return path
}

beforeAll(async () => {
  ensureProgram('systemd-analyze', 'systemd')
  directory = await temporaryDirectory()
}, INSTALL_MS)

describe('countersign.service', () => {
  it('is accepted by systemd, alone and with the drop-in for Redis', () => {
    for (const withRedis of [false, true]) {
      const { status, out, err } = run('systemd-analyze', [
        'verify',
        install(`sound-${withRedis}`, { withRedis }),
      ])
      expect({ status, said: out + err }).toEqual({ status: 0, said: '' })
    }
  })

  it('is refused when a line is wrong (the check itself can fail)', () => {
    const path = install('odd', { change: (text) => text.replace('ProtectHome=yes', 'ProtectHoem=yes') })
    const { out, err } = run('systemd-analyze', ['verify', path])
    expect(out + err).toContain('ProtectHoem')
  })

  it(`has an exposure score of at most ${MAX_EXPOSURE / 10} of 10`, () => {
    const security = (path: string) =>
      run('systemd-analyze', [
        'security',
        '--offline=true',
        `--threshold=${MAX_EXPOSURE}`,
        '--no-pager',
        path,
      ])
    const { status, out } = security(install('exposed'))
    expect(out).toContain('Overall exposure level for countersign.service')
    expect(status, out).toBe(0)
    const lax = install('lax', {
      change: (text) => text.replace(/^(?:DynamicUser|ProtectSystem|CapabilityBoundingSet)=.*$/gm, ''),
    })
    expect(security(lax).status).not.toBe(0)
  })

  it('lets V8 create machine code, and lets LMDB read the boot id', () => {
    expect(valuesOf('MemoryDenyWriteExecute')).toEqual([])
    expect(valuesOf('ProcSubset')).toEqual([])
    expect(valuesOf('SystemCallFilter').slice(0, 2)).toEqual([
      '@system-service @pkey',
      '~@privileged @resources',
    ])
  })

  it('allows setpriority last, so that loads and deliveries can yield to decisions', () => {
    expect(valuesOf('SystemCallFilter').slice(2)).toEqual(['setpriority'])
  })

  it('gives the gateway time to end', () => {
    expect(valuesOf('KillSignal')).toEqual(['SIGTERM'])
    expect(Number(valuesOf('TimeoutStopSec')[0]) * 1000).toBeGreaterThan(DRAINING.DRAIN_MS + 2_000)
    expect(valuesOf('Restart')).toEqual(['on-failure'])
  })

  it('restarts the gateway while a dependency is unavailable, but not after a wrong setting', async () => {
    expect(valuesOf('StartLimitIntervalSec', unit.slice(0, unit.indexOf('[Service]')))).toEqual(['0'])
    const never = valuesOf('RestartPreventExitStatus').map(Number)
    const serve = ['serve', '--port', '0', '--metrics-port', '0', '--policies', at('policies')]
    const nobody = await runCli([...serve, '--store', 'redis://127.0.0.1:1'], { cwd: directory })
    expect([nobody.code, nobody.err]).toEqual([1, expect.stringContaining('ECONNREFUSED')])
    expect(never).not.toContain(nobody.code)
    const wrong = await runCli([...serve, '--store', 'nowhere'], { cwd: directory })
    expect(never).toEqual([wrong.code])
  })

  it('reads every secret from a loaded credential', () => {
    for (const text of [unit, dropIn]) {
      const credentials = valuesOf('LoadCredential', text).map((line) => line.split(':')[0] ?? '')
      const secrets = valuesOf('Environment', text).filter((line) => /KEY|PASSWORD/.test(line))
      expect(secrets.map((line) => line.split('=')[1])).toEqual(credentials.map((name) => `%d/${name}`))
      expect(secrets.filter((line) => !/_FILE=/.test(line))).toEqual([])
    }
  })

  it('writes only to its own state directory', () => {
    expect(valuesOf('StateDirectory')).toEqual(['countersign'])
    expect(valuesOf('Environment')).toContain('COUNTERSIGN_STORE=file:/var/lib/countersign')
    expect(valuesOf('ReadWritePaths')).toEqual([])
  })
})
