import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inDirectory, withGateway } from '../fault/gateway.ts'
import { differenceOf } from '../../src/gateway/jobs/instances.ts'
import { runCli } from './run.ts'

const ADMIN_KEY = 'an-admin-key-for-tests-on-the-loopback-only'
const COMMIT = 'c'.repeat(40)
const AT = '2026-11-27T10:00:00.000Z'
const LATER = '2026-11-27T10:20:00.000Z'
const one = (host: string, more: object = {}) => ({
  id: `id-${host}`,
  host,
  version: '1',
  started_at: AT,
  seen_at: AT,
  load_ok: true,
  load: 'loaded' as const,
  revision: 'a'.repeat(64),
  loaded_at: AT,
  ...more,
})
const OTHER = { revision: 'b'.repeat(64), loaded_at: LATER }

let server: Server
let instances: readonly object[] = []
beforeAll(async () => {
  server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ instances }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => void server.close())

const status = (listed: readonly object[], ...args: string[]) => {
  instances = listed
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY }
  return runCli(['policies', 'status', '--url', url, ...args], { cwd: tmpdir(), env })
}

describe('countersign policies status', () => {
  it.each([
    ['one bundle', [one('a'), one('b')], 0, '2 gateways decide by one bundle'],
    ['no report yet', [], 6, 'no gateway has reported yet'],
    [
      'a first load in progress',
      [one('a'), one('b', { load: 'loading', load_ok: false, revision: undefined, loaded_at: undefined })],
      6,
      'a gateway still loads its policies',
    ],
    [
      'no bundle after a failed load',
      [one('a', { load: 'failed', load_ok: false, revision: undefined })],
      1,
      'a gateway has no bundle: it rejects every call',
    ],
    [
      'a failed load',
      [one('a', { load: 'failed', load_ok: false })],
      1,
      'the last load of a gateway failed: see its log',
    ],
    [
      'different bundles',
      [one('a', OTHER), one('odd'), one('c', OTHER)],
      1,
      `the gateways have different bundles in force since ${LATER}; odd differs from the others`,
    ],
  ])('%s', async (_, listed, code, said) => {
    const run = await status(listed)
    expect([run.code, run.out.trimEnd().split('\n').at(-1)]).toEqual([code, said])
    if (code !== 1) expect(run.out).not.toContain('failed')
  })

  it('--revision names the reason when no gateway knows a commit', async () => {
    const unknown = await status([one('a')], '--revision', COMMIT)
    expect([unknown.code, unknown.out]).toEqual([1, expect.stringContaining('no gateway knows its commit. ')])
    expect((await status([one('a', { commit: COMMIT })], '--revision', COMMIT)).code).toBe(0)
    const other = await status([one('a', { commit: COMMIT })], '--revision', 'd'.repeat(40))
    expect([other.code, other.out]).toEqual([1, expect.not.stringContaining('knows its commit')])
  })

  it('right after readiness is 0 or says that it loads, and knows the commit of an image', async () => {
    await inDirectory(async (directory) => {
      const args = ['--policies-revision', COMMIT]
      await withGateway({ directory, args }, async ({ url }) => {
        const env = { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY, COUNTERSIGN_URL: url }
        const asked = ['policies', 'status', '--revision', COMMIT]
        const first = await runCli(asked, { cwd: directory, env })
        expect(first.out).not.toMatch(/failed|no bundle \(/)
        expect([0, 6]).toContain(first.code)
      })
    })
  })
})

describe('the difference between bundles', () => {
  it('names the fewer instances, and among equally many those with the earlier load', () => {
    expect(differenceOf([one('a'), one('b')])).toBeUndefined()
    expect(differenceOf([one('a'), one('b', OTHER)])).toMatchObject({
      odd: [{ host: 'a' }],
      since: Date.parse(LATER),
    })
    expect(differenceOf([one('a'), one('c'), one('b', OTHER)])).toMatchObject({ odd: [{ host: 'b' }] })
  })
})
