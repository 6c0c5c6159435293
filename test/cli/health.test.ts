import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addressToAsk, listenAddress } from '../../src/app/listen-address.ts'
import { type Gateway, startGateway } from '../fault/gateway.ts'
import { freePort } from '../ports.ts'
import { type CliRun, runCli } from './run.ts'

/** `countersign health`, which the image's health check runs, and the addresses that a gateway listens on. */

const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
)

let directory: string
let gateway: Gateway | undefined
let port: number

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cs-health-'))
  port = await freePort()
  // a bundle without tools loads fast
  await runCli(['init', '.', '--empty'], { cwd: directory })
})
afterEach(async () => {
  gateway?.hangUp()
  await gateway?.process.kill('SIGTERM')
  gateway = undefined
  rmSync(directory, { recursive: true, force: true })
})

const started = async (...args: string[]): Promise<Gateway> =>
  (gateway = await startGateway({
    directory,
    policies: join(directory, 'policies'),
    args: ['--port', String(port), ...args],
  }))

const health = (args: readonly string[] = [], env: Record<string, string> = {}): Promise<CliRun> =>
  runCli(['health', ...args], { cwd: directory, env })

describe('countersign health', () => {
  it('reads address and port from a process, flags, the environment, or the file', async () => {
    const { process } = await started('--host', '127.0.0.2')
    const env = { COUNTERSIGN_HOST: '127.0.0.2', COUNTERSIGN_PORT: String(port) }
    expect(await health(['--of', String(process.pid)])).toEqual({ code: 0, out: '', err: '' })
    expect((await health(['--host', '127.0.0.2', '--port', String(port)])).code).toBe(0)
    expect((await health([], env)).code).toBe(0)
    expect((await health([], { ...env, COUNTERSIGN_HOST: '127.0.0.3' })).code).toBe(1)
    writeFileSync(join(directory, 'countersign.yaml'), `host: 127.0.0.2\nport: ${port}\n`)
    expect((await health()).code).toBe(0)
    writeFileSync(join(directory, 'other.yaml'), `host: 127.0.0.2\nport: ${await freePort()}\n`)
    expect((await health(['--config', 'other.yaml'])).code).toBe(1)
    // flags come first, because a shell may name another gateway
    const elsewhere = { COUNTERSIGN_URL: `http://127.0.0.1:${await freePort()}` }
    expect((await health([], elsewhere)).code).toBe(1)
    expect((await health(['--of', String(process.pid)], elsewhere)).code).toBe(0)
    expect((await health([], { COUNTERSIGN_URL: `http://127.0.0.2:${port}/` })).code).toBe(0)
  })

  it('fails for a gateway that does not run, an unknown port, and invalid settings', async () => {
    expect(await health(['--port', String(port)])).toMatchObject({
      code: 1,
      err: expect.stringContaining(`http://127.0.0.1:${port}/livez: `) as string,
    })
    expect(await health(['--port', '0'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('COUNTERSIGN_PORT') as string,
    })
    expect((await health([], { COUNTERSIGN_PORT: 'x' })).code).toBe(2)
    expect(await health(['--of', 'me'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('`me` is not a process id') as string,
    })
    expect(await health(['--of', '999999999'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('cannot be read') as string,
    })
  })

  it.each(['::', '[::]', '0.0.0.0', ...(hasIpv6 ? ['::1'] : [])])(
    'reaches a gateway that listens on %s',
    async (host) => {
      const { process } = await started('--host', host)
      expect(await health(['--of', String(process.pid)])).toMatchObject({ code: 0, err: '' })
    },
  )
})

describe('a gateway that listens on ::', () => {
  it.runIf(hasIpv6)('serves IPv4 and IPv6, on both ports', async () => {
    const metrics = await freePort()
    await started('--host', '::', '--metrics-host', '::', '--metrics-port', String(metrics))
    const places = ['127.0.0.1', '[::1]'].flatMap((host) => [port, metrics].map((at) => `${host}:${at}`))
    const answers = await Promise.all(
      places.map(async (place) => (await fetch(`http://${place}/livez`)).status),
    )
    expect(answers).toEqual([200, 200, 200, 200])
  })

  it('listens on all IPv4 addresses where there is no IPv6', async () => {
    const on = (host: string, code?: string): Promise<string> =>
      listenAddress(host, () => Promise.resolve(code))
    expect(await on('::', 'EAFNOSUPPORT')).toBe('0.0.0.0')
    expect(await on('::', 'EADDRNOTAVAIL')).toBe('0.0.0.0')
    expect(await on('::')).toBe('::')
    // a host that the operator names has no fallback to another address
    expect(await on('::1', 'EADDRNOTAVAIL')).toBe('::1')
    expect(await on('127.0.0.1', 'EAFNOSUPPORT')).toBe('127.0.0.1')
  })

  it('is asked at the loopback, which every machine has', () => {
    expect(['::', '0.0.0.0', '::1', '127.0.0.2', 'a.example'].map(addressToAsk)).toEqual([
      '127.0.0.1',
      '127.0.0.1',
      '::1',
      '127.0.0.2',
      'a.example',
    ])
  })
})
