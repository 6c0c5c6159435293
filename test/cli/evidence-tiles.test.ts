import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { CheckpointList } from '../../src/contract/checkpoint.ts'
import { serveTiles, type TileServer } from '../../src/cli/operate/tile-server.ts'
import { SETTINGS } from '../../src/settings/settings.ts'
import { directoryPlace } from '../../src/tiles/directory/directory-place.ts'
import { MAIN, startProcess } from '../crash.ts'
import { type Agent, approved, held, MINUTE, openWorld, until, type World } from '../gateway-fixture.ts'
import { KEYS, type S3Server, startS3, VERSITYGW } from '../tiles/versitygw.ts'
import { type CliRun, runCli } from './run.ts'

/** The work of an auditor with the tiles of a gateway that decided some calls. */
let world: World
let agent: Agent
let directory: string
/** The log of the tenant in the data directory. */
let log: string
let records = 0

const SOON = { tilesEveryMs: 1, checkpointEveryMs: 1 }

/** Two calls, of which a reviewer approved one. Then all of it is in tiles. */
async function live(): Promise<void> {
  await agent.submit('t', { tool_name: 't', payload: {} })
  await approved(agent, await world.reviewer('ann'))
  await publish()
}

async function publish(): Promise<void> {
  const { deps } = world.app
  records = (await deps.store.events('acme', 0, 10_000)).length
  world.clock.advance(2 * MINUTE)
  await until(() => readFileSync(join(log, 'checkpoint'), 'utf8').split('\n')[1] === String(records))
}

const run = (...args: string[]): Promise<CliRun> => runCli(['evidence', ...args], { cwd: directory })

beforeEach(async () => {
  world = await openWorld(SOON)
  directory = mkdtempSync(join(tmpdir(), 'cs-auditor-'))
  log = join(dirname(world.policies), 'data', 'tiles', 'acme')
  agent = await world.agent()
  await live()
  const { body } = await world.admin<CheckpointList>('GET', 'checkpoints?tenant=acme')
  writeFileSync(join(directory, 'key'), `${body.verifier_key}\n`)
})
afterEach(async () => {
  await world.close()
  rmSync(directory, { recursive: true, force: true })
})

describe('the tiles of a tenant', () => {
  it('are verified with their own checkpoint', async () => {
    const { code, out, err } = await run('verify', log, '--key', 'key')
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain('holds    signature     1 checkpoint, signed by this key.')
    expect(out).toContain(`holds    integrity     ${records} records`)
    expect(out).toContain(`holds    inclusion     The first ${records} match the newest checkpoint.`)
    expect(out).toContain('holds    completeness')
  })

  it('are the same lines as the export of the gateway', async () => {
    const { out } = await run('export', `file:${log}`)
    const answer = await fetch(`${world.url}/api/admin/evidence?tenant=acme&limit=10000`, {
      headers: { authorization: 'Bearer the admin key of the tests, 32 characters or more' },
    })
    expect(out).toBe(await answer.text())
    const last = await run('export', log, '--after', String(records - 1))
    expect(last.out).toBe(`${out.trim().split('\n').at(-1)}\n`)
  })

  it('prove one record', async () => {
    const { code, out } = await run('prove', log, '2', '--key', 'key')
    expect(code).toBe(0)
    writeFileSync(join(directory, 'proof'), out)
    const shown = await run('verify-proof', 'proof', '--key', 'key')
    const line = (await run('export', log, '--after', '1')).out.split('\n')[0] ?? ''
    expect(line).toContain(shown.out.trim())
    expect(shown.err).toContain(`It is record 2 of the ${records} `)
    const beyond = await run('prove', log, String(records + 1), '--key', 'key')
    expect([beyond.code, beyond.err]).toEqual([
      3,
      expect.stringContaining(`covers the records 1 to ${records}`),
    ])
  })

  it('prove one record by a checkpoint that was signed between two publications', async () => {
    await held(agent)
    let size = 0
    await until(async () => {
      const { body } = await world.admin<CheckpointList>('GET', 'checkpoints?tenant=acme&limit=1')
      const [newest] = body.checkpoints
      size = newest?.size ?? 0
      writeFileSync(join(directory, 'kept'), newest?.note ?? '')
      return size > records
    })
    const prove = (): Promise<CliRun> => run('prove', log, '2', '--key', 'key', '--checkpoint', 'kept')
    const early = await prove()
    const short = `has only ${records} records, and the checkpoint covers ${size}`
    expect([early.code, early.err]).toEqual([3, expect.stringContaining(short)])
    await live()
    const { code, out } = await prove()
    expect(code).toBe(0)
    writeFileSync(join(directory, 'proof'), out)
    expect((await run('verify-proof', 'proof', '--key', 'key')).err).toContain(`record 2 of the ${size} `)
  })

  it('are verified from the kept state on: a nightly run reads one day', async () => {
    const verify = (): Promise<CliRun> => run('verify', log, '--key', 'key', '--state', 'state')
    expect((await verify()).code).toBe(0)
    expect(statSync(join(directory, 'state')).mode & 0o077).toBe(0)
    const before = records
    await live()
    copyFileSync(join(directory, 'state'), join(directory, 'old-state'))
    const next = await verify()
    expect([next.code, next.err]).toEqual([
      0,
      `records 1 to ${before} were verified by an earlier run (state)\n`,
    ])
    const whole = await run('verify', log, '--key', 'key')
    const counts = /^ {25}\d+ calls? allowed.*$/m
    expect(counts.exec(next.out)?.[0]).toBe(counts.exec(whole.out)?.[0])
    expect(next.out).toContain(`${records} records`)
    // nothing is new, and the state remains
    expect((await verify()).code).toBe(0)
    const receipt = `1:${'0'.repeat(64)}`
    const older = await run('verify', log, '--key', 'key', '--state', 'state', '--receipt', receipt)
    expect([older.code, older.out]).toEqual([3, expect.stringContaining('is older than the state')])
    writeFileSync(join(directory, 'state'), 'countersign-verified-0 x\n')
    const anew = await verify()
    expect([anew.code, anew.err]).toEqual([0, expect.stringContaining('this run begins with record 1')])
  })

  it('with another history than the kept state fail', async () => {
    await run('verify', log, '--key', 'key', '--state', 'state')
    await live()
    const bundle = join(log, `tile/entries/000.p/${records}.gz`)
    const bytes = gunzipSync(readFileSync(bundle))
    const at = bytes.lastIndexOf('"tenant":"acme"')
    bytes.write('"tenant":"bcme"', at)
    writeFileSync(bundle, gzipSync(bytes))
    const { code, out } = await run('verify', log, '--key', 'key', '--state', 'state')
    expect(code).toBe(3)
    expect(out).toContain('FAILS    integrity')
    expect(out).toContain('FAILS    inclusion')
  })

  it('that are damaged, missing or not there fail with their name', async () => {
    rmSync(join(log, `tile/0/000.p/${records}`))
    const { code, err } = await run('verify', log, '--key', 'key')
    expect([code, err]).toEqual([3, expect.stringContaining(`tile/0/000.p/${records}`)])
    const none = await run('verify', directory, '--key', 'key')
    expect([none.code, none.err]).toEqual([2, expect.stringContaining('has no file `checkpoint`')])
    const file = await run('verify', 'key', '--key', 'key', '--state', 'state')
    expect([file.code, file.err]).toEqual([2, expect.stringContaining('--state needs a place of tiles')])
    const odd = await run('export', 's3://B')
    expect([odd.code, odd.err]).toEqual([2, expect.stringContaining('must be file:<directory>')])
    expect(existsSync(join(directory, 'state'))).toBe(false)
  })

  it('of a held call that waits are verified as well', async () => {
    await held(agent)
    await publish()
    expect((await run('verify', log, '--key', 'key')).code).toBe(0)
  })
})

describe('evidence serve', () => {
  let server: TileServer
  beforeEach(async () => {
    server = await serveTiles(directoryPlace(log), 0)
  })
  afterEach(() => server.close())

  const get = (path: string, init: RequestInit = {}): Promise<Response> => fetch(`${server.url}${path}`, init)

  it('serves the checkpoint, tiles, and bundles with gzip', async () => {
    expect(await (await get('checkpoint')).text()).toBe(readFileSync(join(log, 'checkpoint'), 'utf8'))
    const bundle = await get(`tile/entries/000.p/${records}`)
    expect(bundle.headers.get('content-encoding')).toBe('gzip')
    const plain = await get(`tile/entries/000.p/${records}`, { headers: { 'accept-encoding': 'identity' } })
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect(Buffer.from(await bundle.arrayBuffer())).toEqual(Buffer.from(await plain.arrayBuffer()))
    expect((await (await get(`tile/0/000.p/${records}`)).arrayBuffer()).byteLength).toBe(32 * records)
  })

  it('serves nothing else, to no other name, and changes nothing', async () => {
    const paths = [
      '',
      'tile/0/001',
      'key',
      '..%2fkey',
      '../acme/checkpoint%00',
      `tile/entries/000.p/${records}.gz`,
    ]
    for (const path of paths) expect([path, (await get(path)).status]).toEqual([path, 404])
    expect((await get('checkpoint', { method: 'POST' })).status).toBe(405)
    expect((await get('checkpoint', { method: 'HEAD' })).status).toBe(200)
  })

  it('runs until a signal', async () => {
    const child = startProcess(MAIN, ['evidence', 'serve', log])
    const line = await child.lineWhere((text) => text.startsWith('serving'))
    expect(line).toMatch(new RegExp(`^serving ${records} records at http://127\\.0\\.0\\.1:\\d+/$`))
    const found = await fetch(`${line.split(' ').at(-1)}checkpoint`)
    expect(await found.text()).toBe(readFileSync(join(log, 'checkpoint'), 'utf8'))
    expect(await child.kill('SIGTERM')).toMatchObject({ code: 0, errors: '' })
  })
})

describe.skipIf(VERSITYGW === undefined)('tiles in S3', () => {
  let server: S3Server
  beforeAll(async () => {
    server = await startS3(VERSITYGW ?? '')
  })
  afterAll(() => server.dispose())

  it('are written by a gateway, and read by an auditor', async () => {
    const endpoint = `http://127.0.0.1:${server.port}`
    const [tiles, tilesEndpoint] = [SETTINGS.tiles.parse('s3://evidence/logs'), endpoint]
    await world.restart({ tiles, tilesEndpoint, tilesPathStyle: 'true' })
    const env = { ...KEYS, COUNTERSIGN_TILES_ENDPOINT: endpoint, COUNTERSIGN_TILES_PATH_STYLE: 'true' }
    const auditor = (...args: string[]) => runCli(['evidence', ...args], { cwd: directory, env })
    await until(async () => (await auditor('verify', 's3://evidence/logs/acme', '--key', 'key')).code === 0)
    const { out } = await auditor('verify', 's3://evidence/logs/acme', '--key', 'key')
    expect(out).toMatch(/holds {4}integrity {5}\d+ records/)
    const away = { ...env, COUNTERSIGN_TILES_ENDPOINT: 'http://127.0.0.1:1' }
    const failed = await runCli(['evidence', 'export', 's3://evidence/logs/acme'], {
      cwd: directory,
      env: away,
    })
    expect([failed.code, failed.err]).toEqual([1, expect.stringContaining('cannot be used')])
  })
})
