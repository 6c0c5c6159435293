import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { createServer as createTlsServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FORMAT } from '../../src/domain/format.ts'
import { certificateFinding } from '../../src/cli/operate/doctor/certificates.ts'
import { authorityFinding } from '../../src/cli/operate/doctor/files.ts'
import { judgeRetention } from '../../src/cli/operate/doctor/retention.ts'
import { lookAtCombinations, lookAtNode } from '../../src/cli/operate/doctor/settings.ts'
import { clockFinding, dateFinding } from '../../src/cli/operate/doctor/store.ts'
import { judgeNoTiles, judgeTiles } from '../../src/cli/operate/doctor/tiles.ts'
import { loadConfig } from '../../src/settings/config.ts'
import { type StoreSizes, SYSTEM } from '../../src/gateway/core/records.ts'
import { TENANTS_INDEX } from '../../src/gateway/core/indexes.ts'
import { openEmbeddedStore } from '../../src/store/embedded/store.ts'
import { keySpace } from '../../src/store/redis/keys.ts'
import { MAIN, startProcess } from '../crash.ts'
import { type Gateway, startGateway, STARTER_POLICIES } from '../fault/gateway.ts'
import { type RedisServer, startRedis } from '../redis/server.ts'
import { makeAuthority } from '../webhooks/certificates.ts'
import { type CliRun, runCli } from './run.ts'

const ADMIN_KEY = 'an-admin-key-for-tests-on-the-loopback-only'
const HOUR_MS = 3_600_000

let directory: string
const closing: (() => unknown)[] = []

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cs-doctor-'))
  // a bundle without tools loads fast
  await runCli(['init', '.', '--empty'], { cwd: directory })
})
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  rmSync(directory, { recursive: true, force: true })
})

const at = (...parts: string[]): string => join(directory, ...parts)

function examine(args: readonly string[] = [], env: Record<string, string> = {}): Promise<CliRun> {
  return runCli(['doctor', ...args], {
    cwd: directory,
    env: { COUNTERSIGN_PORT: '0', COUNTERSIGN_METRICS_PORT: '0', ...env },
  })
}

/** The level of the Node.js that runs the tests: some versions have a lenient parser, which is a warning. */
const NODE = lookAtNode(process.versions).level
const FINE = NODE === 'ok' ? /^fine$/m : /^no errors, 1 warning$/m

/** Errors and warnings, except those about Node.js, and the exit code of the command. */
async function wrong(
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<[number | null, string[]]> {
  const { code, out } = await examine(args, env)
  return [
    code,
    out.split('\n').filter((line) => /^(error|warning)(?! +node | +tiles +off: Redis ) /.test(line)),
  ]
}

/** A server on a free port of the loopback. */
async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => new Promise((resolve) => server.close(resolve)))
  return (server.address() as AddressInfo).port
}

async function running(args: readonly string[] = []): Promise<{ gateway: Gateway; port: string }> {
  const gateway = await startGateway({ directory, policies: at('policies'), args })
  closing.push(async () => {
    gateway.hangUp()
    await gateway.process.kill('SIGTERM')
  })
  return { gateway, port: new URL(gateway.url).port }
}

describe('countersign doctor, without a gateway', () => {
  it('exits 0 with a line for each check, and changes nothing', async () => {
    const { code, out } = await examine([], { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY })
    expect(out).toMatch(new RegExp(`^${NODE} +node +Node\\.js `, 'm'))
    expect(out).toMatch(/^ok +config +settings: 0 by flag, 3 by environment, 0 by file/m)
    expect(out).toMatch(/^ok +gateway +no gateway runs/m)
    expect(out).toMatch(/^ok +store +file:\.\/data does not exist yet/m)
    expect(out).toMatch(/^ok +policies +\.\/policies: \d+ tools, \d+ rules/m)
    expect(out).toMatch(/^ok +files /m)
    expect(out).toMatch(FINE)
    expect(code).toBe(0)
    expect(out).not.toContain(ADMIN_KEY)
  })

  it('warns of variables that are not settings; a likely typo is an error, because no gateway would start', async () => {
    const key = { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY }
    const [code, lines] = await wrong([], { ...key, COUNTERSIGN_VERSION: '7' })
    expect([code, lines]).toEqual([
      0,
      [expect.stringMatching(/^warning +config +COUNTERSIGN_VERSION is not a setting and is ignored -> /)],
    ])
    expect(await wrong([], { ...key, COUNTERSIGN_STOER: 'redis://127.0.0.1' })).toEqual([
      3,
      [
        expect.stringMatching(
          /^error +config .*did you mean `COUNTERSIGN_STORE`\? -> a gateway would not start/,
        ),
      ],
    ])
  })

  it('names settings that have no effect with the others', async () => {
    const env = { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY, COUNTERSIGN_STORE_REPLICAS: '2' }
    const ignored =
      /^warning +config +COUNTERSIGN_STORE_REPLICAS has no effect: it applies only with a store on Redis -> /
    expect(await wrong([], env)).toEqual([0, [expect.stringMatching(ignored)]])
  })

  it('opens the store, and reports how durable it is', async () => {
    const { gateway } = await running()
    gateway.hangUp()
    await gateway.process.kill('SIGTERM')
    const { code, out } = await examine()
    expect(out).toMatch(/^ok +store +file:\.\/data: ready, durability fsync, /m)
    expect(out).toMatch(/^ok +clock +within 1 s of the last write$/m)
    expect(code).toBe(0)
    await (await startGateway({ directory, policies: at('policies') })).process.kill('SIGTERM')
  })

  it('reads the place of the tiles, and reports one that does not answer', async () => {
    expect((await examine()).out).toMatch(
      /^ok {7}tiles {9}file:data\/tiles can be read, but was not compared: that takes a running gateway, and its admin key$/m,
    )
    expect((await examine(['--tiles', 'off'])).out).toMatch(
      /^ok {7}tiles {9}off: evidence is only in the store$/m,
    )
    const inS3 = ['--tiles', 's3://bucket/logs', '--tiles-endpoint', 'http://127.0.0.1:1']
    const keys = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'only-for-tests' }
    const { code, out } = await examine([...inS3, '--tiles-path-style', 'true'], keys)
    expect(code).toBe(3)
    expect(out).toMatch(/^error {4}tiles {9}`s3:\/\/bucket\/logs\/_system` cannot be used: /m)
  })

  it('prints its findings as JSON for programs', async () => {
    writeFileSync(at('policies', 'routing.yaml'), 'nonsense: true\n')
    const { code, out } = await examine(['--json'])
    const report = JSON.parse(out) as {
      ok: boolean
      findings: { level: string; check: string; todo?: string }[]
    }
    expect([code, report.ok]).toEqual([3, false])
    expect(report.findings.filter(({ level }) => level === 'error')).toEqual([
      {
        level: 'error',
        check: 'policies',
        what: expect.stringMatching(/would not load/),
        todo: expect.stringContaining('countersign check'),
      },
    ])
  })

  it('reports a configuration that does not start', async () => {
    const [code, lines] = await wrong(['--port', 'none'])
    expect([code, lines]).toEqual([3, [expect.stringMatching(/^error +config +--port: /)]])
  })

  it('reports secrets and state that others can read, and policies that others can write', async () => {
    for (const [name, mode] of [
      ['key', 0o644],
      ['client', 0o600],
    ] as const) {
      writeFileSync(at(name), `${ADMIN_KEY}\n`)
      chmodSync(at(name), mode)
    }
    writeFileSync(at('countersign.yaml'), `admin_key: ${ADMIN_KEY}\n`, { mode: 0o644 })
    mkdirSync(at('data'))
    chmodSync(directory, 0o755)
    chmodSync(at('data'), 0o755)
    chmodSync(at('policies'), 0o777)
    const env = {
      COUNTERSIGN_STORE_PASSWORD_FILE: at('key'),
      COUNTERSIGN_SENTINEL_PASSWORD_FILE: at('client'),
    }
    const [code, lines] = await wrong([], env)
    expect(code).toBe(3)
    const files = lines.filter((line) => line.includes('files '))
    expect(files).toEqual([
      expect.stringContaining('countersign.yaml'),
      expect.stringContaining(`${at('key')}, named by COUNTERSIGN_STORE_PASSWORD_FILE`),
      expect.stringContaining('./data holds the state'),
      expect.stringContaining('all users can write to ./policies'),
    ])
    for (const line of files) expect(line).toMatch(/ -> chmod /)
    chmodSync(at('data'), 0o700)
    chmodSync(at('policies'), 0o755)
    chmodSync(at('key'), 0o640)
    chmodSync(at('countersign.yaml'), 0o600)
    expect((await wrong([], env))[1].filter((line) => line.includes('files '))).toEqual([])
  })

  it('accepts readable secrets in a closed directory, and only warns of a secret that is mounted by itself', async () => {
    mkdirSync(at('closed'), { mode: 0o700 })
    mkdirSync(at('closed', 'below'))
    writeFileSync(at('closed', 'below', 'key'), `${ADMIN_KEY}\n`, { mode: 0o644 })
    writeFileSync(at('mounted'), '')
    chmodSync(directory, 0o755)
    const key = { COUNTERSIGN_ADMIN_KEY_FILE: at('closed', 'below', 'key') }
    expect(await wrong([], key)).toEqual([0, []])
    // in a mount namespace, as in a container: another file system at this very name
    const other =
      'mount -t tmpfs tmpfs closed/below && echo "$1" > closed/below/key && chmod 0644 closed/below/key'
    const script = `cd ${directory} && ${other} && mount --bind closed/below/key mounted && shift && exec "$@"`
    const inside = startProcess(MAIN, ['doctor', '--port', '0', '--metrics-port', '0'], {
      through: [
        'unshare',
        '-m',
        'env',
        `COUNTERSIGN_ADMIN_KEY_FILE=${at('mounted')}`,
        'sh',
        '-c',
        script,
        'sh',
        ADMIN_KEY,
      ],
    })
    const { code, lines } = await inside.ended
    expect(lines.filter((line) => line.includes(' files '))).toEqual([
      expect.stringMatching(
        /^warning +files +\S+\/mounted, named by COUNTERSIGN_ADMIN_KEY_FILE, .* readable by all users here -> on the host that mounts it/,
      ),
    ])
    expect(code).toBe(0)
  })

  it('reports a port in use, and a server at that port that is not a gateway', async () => {
    const port = await listening(createServer((_, response) => response.end('hello')))
    expect((await wrong(['--metrics-port', String(port)]))[1]).toEqual([
      expect.stringMatching(/^error +ports +metrics_port 127\.0\.0\.1:\d+: another process uses it/),
    ])
    expect((await wrong(['--port', String(port)]))[1]).toEqual([
      expect.stringMatching(/^error +gateway +another program answers/),
    ])
    // which has no store to speak for
    expect((await examine(['--port', String(port)])).out).toMatch(
      /^ok +store +file:\.\/data does not exist yet/m,
    )
  })

  it('does not report a port as taken only because fetch refuses it, as browsers do', async () => {
    const { out } = await examine(['--port', '6667'])
    expect(out).not.toMatch(/ gateway +no answer/)
    expect(out).toMatch(/^ok +gateway +no gateway runs/m)
  })

  it('reports within a few seconds a port whose server never answers', async () => {
    const port = await listening(createTcpServer((socket) => socket.resume()) as unknown as Server)
    expect((await wrong(['--port', String(port)]))[1]).toEqual([
      expect.stringMatching(/^error +gateway +no answer at http:\S+ within 3 s -> /),
    ])
  })

  it('reports a configuration that is not YAML, without showing its content', async () => {
    writeFileSync(at('countersign.yaml'), 'admin_key: [geheim-canary\n', { mode: 0o600 })
    const { code, out, err } = await examine()
    expect(code).toBe(3)
    expect(out).toMatch(/^error +config +countersign\.yaml is not YAML at line \d+, column \d+; /m)
    expect(out + err).not.toContain('canary')
  })

  it('reports files of certificate authorities that hold no certificate', async () => {
    writeFileSync(at('bad.pem'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
    for (const [path, why] of [
      [at('bad.pem'), 'cannot be read, or is not a certificate'],
      [at('policies'), 'cannot be read, or is not a certificate'],
      [at('policies', 'routing.yaml'), 'contains no certificate'],
    ] as const)
      expect((await wrong([], { NODE_EXTRA_CA_CERTS: path }))[1]).toEqual([
        expect.stringContaining(`certificates  ${path} ${why}`),
      ])
  })

  it('reports a store that cannot be created, and a clock that is behind its files', async () => {
    writeFileSync(at('file'), '')
    const [code, lines] = await wrong(['--store', `file:${at('file')}/data`])
    expect([code, lines]).toEqual([
      3,
      [expect.stringMatching(/^error +files .* does not exist, and cannot be created/)],
    ])
    const later = new Date(Date.now() + HOUR_MS)
    utimesSync(at('policies'), later, later)
    const newer = expect.stringMatching(/^error +clock +files have times in the future/) as string
    expect((await wrong())[1]).toEqual([newer])
    const sooner = new Date(Date.now() - HOUR_MS)
    utimesSync(at('policies'), sooner, sooner)
    const { gateway } = await running()
    gateway.hangUp()
    await gateway.process.kill('SIGTERM')
    utimesSync(at('data', 'store.mdb'), later, later)
    expect((await wrong())[1]).toEqual([newer])
  })

  it('reports an identity provider that it cannot reach', async () => {
    const closed = createTcpServer()
    const port = await listening(closed as unknown as Server)
    await new Promise((resolve) => closed.close(resolve))
    const args = ['--oidc-issuer', `https://127.0.0.1:${port}`, '--oidc-client-id', 'countersign']
    expect((await wrong(args))[1]).toEqual([
      expect.stringMatching(
        /^warning +certificates +oidc_issuer .* cannot be reached by TLS .* -> the gateway itself must reach it$/,
      ),
    ])
  })

  it('reports certificates that no client accepts or whose authority is unknown', async () => {
    const authority = makeAuthority()
    closing.push(() => rmSync(authority.directory, { recursive: true }))
    authority.issue('front', { names: ['IP:127.0.0.1'] })
    const server = createTlsServer({
      key: readFileSync(join(authority.directory, 'front.key')),
      cert: readFileSync(join(authority.directory, 'front.crt')),
    })
    const port = await listening(server as unknown as Server)
    const args = ['--public-url', `https://127.0.0.1:${port}`]
    expect((await wrong(args))[1]).toEqual([
      expect.stringMatching(/^error +certificates +the certificate of public_url .* is not accepted/),
    ])
    const issuer = ['--oidc-issuer', `https://127.0.0.1:${port}/staff`, '--oidc-client-id', 'countersign']
    expect((await wrong(issuer))[1]).toEqual([
      expect.stringMatching(/^error +certificates +the certificate of oidc_issuer .* is not accepted/),
    ])
    const trusted = await examine([...args, ...issuer], {
      NODE_EXTRA_CA_CERTS: join(authority.directory, 'ca.crt'),
    })
    expect(trusted.out).toMatch(
      /^(ok|warning) +certificates +public_url \(127\.0\.0\.1:\d+\): (valid for|expires in) \d+ days/m,
    )
    expect(trusted.out).toMatch(/^(ok|warning) +certificates +oidc_issuer \(127\.0\.0\.1:\d+\): /m)
    expect((await wrong(args, { NODE_EXTRA_CA_CERTS: at('file-that-is-not-there') }))[1].join()).toMatch(
      /named by NODE_EXTRA_CA_CERTS, cannot be read/,
    )
  })
})

/** A measurement of a store: `daily` threads a day of a megabyte each. */
const sizesOf = (daily: number): StoreSizes => ({
  at: 1,
  claimed_until: 0,
  kinds: {
    'record thread': { count: 100, bytes: 60e6 },
    'record revision': { count: 100, bytes: 40e6 },
    index: { count: 900, bytes: 0, last_day: daily },
    evidence: { count: 1, bytes: 1, growth: 1e6 },
  },
})

describe('countersign doctor, on retention', () => {
  const retention = { threads_ms: 30 * 24 * HOUR_MS, disclosures_ms: 0 }

  it('warns of threads that the disk cannot hold, and names a retention that fits', () => {
    expect(judgeRetention(sizesOf(9), retention, 200e6)).toEqual([
      {
        level: 'ok',
        check: 'retention',
        what: 'threads of 30 days and their evidence need 300 MB: 300 MB are there',
      },
    ])
    expect(judgeRetention(sizesOf(14), retention, 200e6)).toMatchObject([
      {
        level: 'warning',
        what: 'threads of 30 days and their evidence need 450 MB, but only 300 MB are there',
        todo: 'set `threads: 20d`, or give the store more room (docs/data.md)',
      },
    ])
    expect(judgeRetention(sizesOf(99), retention, 200e6)).toMatchObject([
      { level: 'warning', todo: 'give the store more room (docs/data.md)' },
    ])
    expect(judgeRetention({ ...sizesOf(9), kinds: {} }, retention, 0)).toEqual([])
  })

  it('reads the measurement of a stopped store and of a running gateway', async () => {
    const store = await openEmbeddedStore({ path: at('data'), minFreeBytes: 0 })
    const body = JSON.stringify(sizesOf(1e9))
    const writes = [{ op: 'put', type: 'sizes', id: 'all', body }] as const
    await store.commit(SYSTEM, { commitId: 'c', deadline: Infinity, guards: [], writes, events: [] })
    await store.close()
    const found = /^warning +retention +threads of 30 days and their evidence need [\d.e+]+ TB, but only /m
    expect((await examine()).out).toMatch(found)
    const { port } = await running()
    const { out } = await examine(['--port', port], { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY })
    expect(out).toMatch(found)
  })
})

describe('the tiles of a log', () => {
  const before = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString()
  const levels = (size: number, published: number, ...signed: (readonly [number, number])[]): string[] => {
    const note = `log\n${size}\nroot\n\ntime ${before(published)}\n`
    const checkpoints = signed.map(([count, minutes]) => ({ size: count, at: before(minutes) }))
    return judgeTiles('acme', note, checkpoints).map(({ level }) => level)
  }

  it('are late when records were signed more than ten minutes ago, also while new ones are signed', () => {
    expect(levels(10, 1, [10, 1])).toEqual([])
    expect(levels(10, 20, [12, 15])).toEqual(['error'])
    expect(levels(10, 300, [12, 0], [11, 40])).toEqual(['error'])
    expect(levels(10, 300, [400, 0])).toEqual(['error'])
  })

  it('are not late when a quiet log has new records', () => {
    expect(levels(10, 300, [12, 0], [10, 300])).toEqual([])
    expect(levels(10, 300, [12, 0], [11, 5])).toEqual([])
    expect(judgeTiles('acme', '', [])).toEqual([])
  })

  it('are missing with Redis: the doctor says how much stays in memory, and when it is full', () => {
    const now = Date.parse('2026-12-01T00:00:00Z')
    const kinds = {
      evidence: { count: 9, bytes: 9e6, growth: 3e6 },
      index: { count: 9, bytes: 9, growth: 1e6 },
    }
    const said = (...given: [StoreSizes['kinds'], number | undefined]): string => {
      const { level, what } = judgeNoTiles(...given, now)
      expect(level).toBe('warning')
      return what.replace('off: Redis keeps all evidence in memory forever', '')
    }
    expect(said(kinds, 80e6)).toBe(': its data grows by 4 MB a day, and maxmemory is full on 2026-12-21')
    expect(said(kinds, undefined)).toBe(': its data grows by 4 MB a day')
    expect(said({}, 80e6)).toBe('')
    expect(said({ evidence: { count: 9, bytes: 9, growth: 0.001 } }, 80e6)).toBe(
      ': its data grows by 0.001 bytes a day',
    )
  })
})

describe('countersign doctor, beside a running gateway', () => {
  it('asks the gateway for readiness, clock and policies, and leaves the store to it', async () => {
    const { port } = await running()
    const { code, out } = await examine(['--port', port], { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY })
    expect(out).toMatch(/^ok +gateway +runs at http:\/\/127\.0\.0\.1:\d+ and is ready$/m)
    expect(out).toMatch(/^ok +store +the gateway holds file:\.\/data, /m)
    expect(out).toMatch(/^ok +clock +within 3 s of the gateway$/m)
    expect(out).toMatch(FINE)
    expect(code).toBe(0)
  })

  it('compares tiles with the checkpoints of the gateway', async () => {
    const { port } = await running()
    const fine = /^ok {7}tiles {9}file:data\/tiles can be read, and no log is late$/m
    expect((await examine(['--port', port], { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY })).out).toMatch(fine)
    const otherKey = { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY.toUpperCase() }
    for (const env of [{}, otherKey])
      expect((await examine(['--port', port], env)).out).toMatch(/^ok {7}tiles .*, but was not compared: /m)
  })

  it('reports tiles with more records than the gateway has signed', async () => {
    const { port } = await running()
    mkdirSync(at('data', 'tiles', SYSTEM), { recursive: true })
    writeFileSync(at('data', 'tiles', SYSTEM, 'checkpoint'), 'countersign/x/_system\n1000\nroot\n')
    const args = ['--port', port]
    expect(await wrong(args, { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY })).toEqual([
      3,
      [
        expect.stringMatching(
          /^error {4}tiles {9}the tiles of _system have 1000 records, and \d+ are signed -> the store went back/,
        ),
      ],
    ])
  })

  it('looks at the last log, also when the files of the first are lost', async () => {
    const { port } = await running()
    mkdirSync(at('data', 'tiles', SYSTEM, '2'), { recursive: true })
    writeFileSync(at('data', 'tiles', SYSTEM, '2', 'checkpoint'), 'countersign/x/_system/2\n1000\nroot\n')
    const [, lines] = await wrong(['--port', port], { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY })
    expect(lines).toEqual([expect.stringContaining('the tiles of _system have 1000 records')])
  })

  it('reports a store that is still ahead because of an earlier wrong clock', async () => {
    const clock = { wall: () => Date.now() + 3_600_000, monotonic: () => performance.now() }
    const store = await openEmbeddedStore({ path: at('data'), minFreeBytes: 0, clock })
    await store.commit(SYSTEM, {
      commitId: 'c1',
      deadline: Infinity,
      guards: [],
      writes: [{ op: 'index', index: 'i', member: 'm', to: 1 }],
      events: [],
    })
    await store.close()
    const { gateway, port } = await running()
    const line = await gateway.process.lineWhere((text) => text.includes("the store's clock is ahead of"))
    const { level, apart_seconds } = JSON.parse(line) as { level: string; apart_seconds: number }
    expect([level, Math.round(apart_seconds / 60)]).toEqual(['warn', 60])
    expect(await wrong(['--port', port], { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY })).toEqual([
      3,
      [
        expect.stringMatching(
          /^error +clock +the clock of this machine is 3\d{3}\.\d s behind that of the gateway/,
        ),
      ],
    ])
  })

  it('reports another bundle in force, a refused admin key, and a missing one', async () => {
    const { port } = await running(['--policy-rescan', '3600000'])
    const env = { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY }
    const other = { COUNTERSIGN_ADMIN_KEY: `${ADMIN_KEY}-which-is-another` }
    expect((await wrong(['--port', port], other))[1]).toEqual([
      expect.stringMatching(/^error +gateway +the gateway does not accept the admin key/),
    ])
    expect((await wrong(['--port', port]))[1]).toEqual([
      expect.stringMatching(/^warning +gateway +this configuration has no admin key/),
    ])
    cpSync(STARTER_POLICIES, at('others'), { recursive: true })
    writeFileSync(
      at('others', 'routing.yaml'),
      `${readFileSync(at('others', 'routing.yaml'), 'utf8')}\n# changed\n`,
    )
    expect((await wrong(['--port', port, '--policies', at('others')], env))[1]).toEqual([
      expect.stringMatching(/^warning +policies .* is in force/),
    ])
  })

  it('does not blame the admin key for another error', async () => {
    const port = await listening(
      createServer((request, response) => {
        response.setHeader('content-type', 'application/json')
        if (request.url === '/readyz')
          return void response.end('{"ready":true,"store":"ready","policies":"ready"}')
        response.statusCode = 503
        response.end('{"code":"store_unavailable","title":"The store does not answer","detail":"later"}')
      }),
    )
    const [code, lines] = await wrong(['--port', String(port)], { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY })
    expect([code, lines]).toEqual([
      0,
      [
        expect.stringMatching(
          /^warning +gateway +the gateway did not report the policies in force: The store does not answer: later/,
        ),
      ],
    ])
  })

  it('without flags, examines the gateway that COUNTERSIGN_URL names, by its own settings', async () => {
    const gateway = await startGateway({
      directory,
      args: ['--log-level', 'debug', '--store-replicas', '1'],
      through: ['COUNTERSIGN_VERSION=7'],
    })
    closing.push(() => gateway.process.kill('SIGTERM'))
    const env = { COUNTERSIGN_URL: gateway.url, COUNTERSIGN_ADMIN_KEY: ADMIN_KEY }
    const { code, out } = await runCli(['doctor'], { cwd: directory, env })
    expect(out).toMatch(/^ok +gateway +runs at .* and is ready$/m)
    expect(out).toMatch(/^ok +config +settings: [3-9] by flag, \d by environment, 0 by file/m)
    expect(out).toMatch(/^warning +config +COUNTERSIGN_VERSION is not a setting/m)
    expect(out).toMatch(
      /^warning +config +--store-replicas has no effect: it applies only with a store on Redis/m,
    )
    expect(out).toMatch(/^warning +log +log_level=debug/m)
    expect(out).toMatch(
      /^ok +elsewhere +its store, files, ports and certificates are examined on its own machine/m,
    )
    expect(out).not.toMatch(/^\w+ +(?:store|ports|files)/m)
    expect(out).not.toContain(ADMIN_KEY)
    expect(code).toBe(0)
    const stranger = await runCli(['doctor'], {
      cwd: directory,
      env: { COUNTERSIGN_URL: gateway.url },
    })
    expect(stranger.out).toMatch(/^warning +config +the settings of the gateway .* are unknown/m)
    const away = { COUNTERSIGN_URL: 'http://127.0.0.1:9', COUNTERSIGN_ADMIN_KEY: ADMIN_KEY }
    const missing = await runCli(['doctor'], { cwd: directory, env: away })
    expect([missing.code, missing.out]).toEqual([
      3,
      expect.stringMatching(/^error +gateway +no gateway answers/m),
    ])
  })

  it('reports bundles that differ: a warning during a rollout, an error after it', async () => {
    const asked: Record<string, object> = {
      '/readyz': { ready: true, store: 'ready', policies: 'ready' },
      '/api/admin/policies': { in_force: false },
    }
    const port = await listening(
      createServer(({ url = '' }, response) => {
        response.statusCode = asked[url] === undefined ? 404 : 200
        response.end(JSON.stringify(asked[url] ?? { code: 'not_found', title: 'No such path', detail: url }))
      }),
    )
    const differing = async (minutes: number, args: readonly string[]): Promise<readonly unknown[]> => {
      const loaded_at = new Date(Date.now() - minutes * 60_000).toISOString()
      const instances = ['a', 'b', 'c'].map((host) => ({
        host,
        loaded_at,
        revision: host === 'b' ? '1' : '2',
      }))
      asked['/api/admin/instances'] = { instances }
      const [code, lines] = await wrong(['--port', String(port), ...args], {
        COUNTERSIGN_ADMIN_KEY: ADMIN_KEY,
      })
      const found = lines.find((line) => line.includes('decide by different policies since')) ?? ''
      return [code, /^(\w+) +gateway .*: b has/.exec(found)?.[1]]
    }
    expect(await differing(5, [])).toEqual([0, 'warning'])
    expect(await differing(15, [])).toEqual([3, 'error'])
    // the rollout of the gateway counts, in place of that of this configuration
    const value = String(30 * 60_000)
    const settings = [{ name: 'COUNTERSIGN_POLICY_ROLLOUT', value, origin: 'flag' }]
    asked['/api/admin/settings'] = { node: { node: '24' }, settings, unknown: [], without_effect: [] }
    expect(await differing(15, ['--policy-rollout', '60000'])).toEqual([0, 'warning'])
    expect(await differing(45, ['--policy-rollout', '36000000'])).toEqual([3, 'error'])
  })

  it('reports an unknown state of the store as an error', async () => {
    const store = 'ready, but in a way of a later version'
    const answer = JSON.stringify({ ready: true, store, policies: 'ready' })
    const port = await listening(createServer((_, response) => void response.end(answer)))
    const [code, lines] = await wrong(['--port', String(port)])
    expect([code, lines[0]]).toEqual([
      3,
      expect.stringMatching(
        /^error +gateway +runs at .*: store: ready, but in a way of a later version -> its log has the reason/,
      ),
    ])
  })

  it('reports why the gateway is not ready', async () => {
    writeFileSync(at('policies', 'routing.yaml'), 'nonsense: true\n')
    const gateway = await startGateway({ directory, policies: at('policies'), ready: false })
    closing.push(() => gateway.process.kill('SIGTERM'))
    const [code, lines] = await wrong(['--port', new URL(gateway.url).port], {
      COUNTERSIGN_ADMIN_KEY: ADMIN_KEY,
    })
    expect(code).toBe(3)
    expect(lines[0]).toMatch(
      /^error +gateway +runs at .* and is not ready: store: ready; policies: no valid bundle/,
    )
  })
})

describe('countersign doctor, on Redis', () => {
  const servers: RedisServer[] = []
  afterAll(async () => {
    for (const server of servers) await server.dispose()
  })

  it('reports how durable Redis is, and refuses settings that the gateway would refuse', async () => {
    const sound = await startRedis()
    const loose = await startRedis({ config: { appendonly: 'no' } })
    servers.push(sound, loose)
    const { code, out } = await examine(['--store', sound.url])
    expect(out).toMatch(/^ok +store +redis:\/\/127\.0\.0\.1:\d+: ready, durability fsync, /m)
    expect(out).toMatch(/^ok +clock +within 1 s of Redis$/m)
    expect(code).toBe(0)
    const [refused, lines] = await wrong(['--store', loose.url])
    const needed =
      /^error +store .*: appendonly is no: the last seconds may be lost; run `CONFIG SET appendonly yes`, let replicas/
    expect([refused, lines]).toEqual([3, [expect.stringMatching(needed)]])
    const [accepted, accepts] = await wrong(['--store', loose.url, '--durability', 'async'])
    expect([accepted, accepts]).toEqual([0, [expect.stringMatching(/^warning +store +durability=async/)]])
  })

  it('names every wrong Redis setting at once, instead of one at each start', async () => {
    const config = { appendonly: 'no', maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' }
    const loose = await startRedis({ config })
    servers.push(loose)
    const [, [line = '']] = await wrong(['--store', loose.url])
    expect(line).toMatch(
      /appendonly is no.*; and maxmemory-policy is allkeys-lru.*run `CONFIG SET maxmemory-policy noeviction`/,
    )
    expect(line).not.toContain('appendfsync')
    const flags = ['--store', loose.url, '--port', '0', '--metrics-port', '0']
    const { err } = await runCli(['serve', ...flags], { cwd: directory })
    expect(err).toMatch(/cannot start: appendonly is no.*; and maxmemory-policy is allkeys-lru/)
  })

  it('reports missing replicas that must confirm writes', async () => {
    const alone = await startRedis()
    servers.push(alone)
    const [code, lines] = await wrong(['--store', alone.url, '--store-replicas', '1'])
    expect([code, lines]).toEqual([
      3,
      [expect.stringMatching(/^error +store +store_replicas=1, and 0 follow Redis at 127\.0\.0\.1:\d+: /)],
    ])
  })

  it('reports a Redis clock that is so far behind the last write that commits would be too late', async () => {
    const behind = await startRedis()
    servers.push(behind)
    const { head } = keySpace().of(SYSTEM)
    await behind.ask('HSET', head, 'v', FORMAT, 't', String(Date.now()))
    expect(await wrong(['--store', behind.url])).toEqual([0, []])
    await behind.ask('HSET', head, 't', String(Date.now() + 3_600_000))
    expect(await wrong(['--store', behind.url])).toEqual([
      3,
      [
        expect.stringMatching(
          /^error +clock +the clock of Redis is 3\d{3}\.\d s behind the last write of `_system`: .* 503 -> /,
        ),
      ],
    ])
  })

  it('reports a Redis clock that is behind the last write of a tenant', async () => {
    const behind = await startRedis()
    servers.push(behind)
    const tenants = keySpace().of(SYSTEM).index(TENANTS_INDEX)
    for (const [i, tenant] of ['acme', 'globex', 'initech'].entries()) {
      await behind.ask('ZADD', tenants, '0', tenant)
      await behind.ask(
        'HSET',
        keySpace().of(tenant).head,
        'v',
        FORMAT,
        't',
        String(Date.now() + i * 3_600_000),
      )
    }
    expect(await wrong(['--store', behind.url])).toEqual([
      3,
      [expect.stringMatching(/ 7[12]\d{2}\.\d s behind the last write of `initech` and 1 more: .* 503 -> /)],
    ])
  })

  it('reports a Redis that does not answer, and never prints a password', async () => {
    const { code, out, err } = await examine([
      '--store',
      'redis://user:pass-word-canary@127.0.0.1:1',
      '--store-deadline',
      '300',
    ])
    expect(code).toBe(3)
    expect(out).toMatch(
      /^error +store +redis:\/\/.*ECONNREFUSED.* -> start Redis, or fix the connection to it/m,
    )
    expect(out + err).not.toContain('pass-word-canary')
  })
})

describe("the doctor's levels for", () => {
  it('versions of Node.js', () => {
    const levels = ['20.18.3', '18.20.0', '20.19.0', '24.1.0'].map((node) => lookAtNode({ node }).level)
    expect(levels).toEqual(['error', 'error', 'ok', 'ok'])
  })

  it('versions of the HTTP parser', () => {
    const levels = ['8.1.2', '9.2.1', '10.0.0'].map((llhttp) => lookAtNode({ node: '20.19.1', llhttp }).level)
    expect(levels).toEqual(['warning', 'ok', 'ok'])
  })

  it('clocks', () => {
    const levels = [0, 900, 1_500, -1_500, 20_000, -20_000].map(
      (ms) => clockFinding('x', 1e12 + ms, 1e12).level,
    )
    expect(levels).toEqual(['ok', 'ok', 'warning', 'warning', 'error', 'error'])
    expect([0, 2_900, -2_900, 4_000, 20_000].map((ms) => dateFinding('x', 1e12 + ms, 1e12).level)).toEqual([
      'ok',
      'ok',
      'ok',
      'warning',
      'error',
    ])
    expect(clockFinding('Redis', 1e12 + 20_000, 1e12).what).toContain('20.0 s behind that of Redis')
    expect(clockFinding('Redis', 1e12 - 20_000, 1e12).what).toContain('20.0 s ahead of that of Redis')
  })

  it('certificates', () => {
    const day = 24 * HOUR_MS
    expect(
      [-day, day, 20 * day, 60 * day].map((ms) => certificateFinding('x', new Date(1e12 + ms), 1e12).level),
    ).toEqual(['error', 'warning', 'warning', 'ok'])
  })

  it('authorities of NODE_EXTRA_CA_CERTS, with their file: system bundles contain expired ones', () => {
    const of = (ms: number): unknown => {
      const authority = { subject: 'C=IE\nCN=Root', validTo: new Date(1e12 + ms).toISOString() }
      return authorityFinding('/etc/ca.pem', authority, 1e12)
    }
    expect(of(60 * 24 * HOUR_MS)).toBeUndefined()
    expect(of(-24 * HOUR_MS)).toMatchObject({
      level: 'warning',
      what: expect.stringMatching(/^the authority C=IE, CN=Root in \/etc\/ca\.pem .*: expired on /) as string,
    })
  })

  it('combinations of settings', () => {
    const of = (...args: string[]): string[] =>
      lookAtCombinations(loadConfig({ args, env: {}, parseYaml: () => ({}) }).config).map(
        ({ level, check }) => `${level} ${check}`,
      )
    expect(of()).toEqual([])
    expect(of('--host', '0.0.0.0')).toEqual(['warning address', 'warning address'])
    expect(of('--host', '0.0.0.0', '--public-url', 'https://a.example')).toEqual(['warning address'])
    expect(of('--public-url', 'http://a.example')).toEqual(['error address'])
    expect(of('--metrics-host', '::')).toEqual(['warning address'])
    expect(of('--store', 'redis://10.0.0.1')).toEqual(['warning store'])
    expect(of('--store', 'rediss://10.0.0.1')).toEqual([])
    expect(of('--store', 'redis://127.0.0.1', '--store-accept', 'eviction')).toEqual(['warning store'])
    expect(of('--webhooks-allow', '127.0.0.1/32:8443', '--log-level', 'debug')).toEqual([
      'warning webhooks',
      'warning log',
    ])
    expect(of('--otlp-endpoint', 'http://10.0.0.1:4318')).toEqual(['warning traces'])
  })
})
