import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runCli } from '../cli/run.ts'
import { MAIN, startProcess } from '../crash.ts'
import { type RedisServer, startRedis } from '../redis/server.ts'
import {
  type Gateway,
  inDirectory,
  LARGE_CENTS,
  startGateway,
  STARTER_POLICIES,
  transfer,
  TRANSFER_PATH,
} from './gateway.ts'

/** Two environments that were given one store by mistake, or on purpose under two names. */

const STAGING_KEY = 'the-admin-key-of-staging-for-tests-on-the-loopback'
let redis: RedisServer
beforeAll(async () => void (redis = await startRedis()))
beforeEach(async () => void (await redis.ask('FLUSHALL')))
afterAll(() => redis.dispose())

const propose = async (gateway: Gateway, key: string): Promise<unknown> => {
  const call = { method: 'POST', path: TRANSFER_PATH('t'), key, body: transfer(LARGE_CENTS) }
  const { status, body } = await gateway.ask(call)
  return body['status'] ?? status
}
const refusedStart = async (variables: readonly string[], ...args: string[]): Promise<string> => {
  const serve = ['serve', '--port', '0', '--metrics-port', '0', '--policies', STARTER_POLICIES, ...args]
  const { code, errors } = await startProcess(MAIN, serve, { through: ['env', ...variables] }).ended
  expect(code).toBe(1)
  return errors
}

describe('one store, one deployment', () => {
  it('a second deployment with another admin key is refused at start, with what to do', async () => {
    await inDirectory(async (directory) => {
      const production = await startGateway({ directory, args: ['--store', redis.url] })
      const key = await production.key('agent', 'demo-agent')
      const errors = await refusedStart([`COUNTERSIGN_ADMIN_KEY=${STAGING_KEY}`], '--store', redis.url)
      expect(errors).toMatch(
        /another deployment uses this store: the deployment without a name, which last ran on \S+, has the admin key .*Name this deployment with COUNTERSIGN_DEPLOYMENT, .*rotate the admin key with `countersign store rotate-admin-key`/,
      )
      expect(await propose(production, key)).toBe('pending_review')
      await production.process.kill('SIGTERM')
    })
  })

  it('two named deployments share one Redis, and nothing else', async () => {
    await inDirectory(async (directory) => {
      const args = ['--store', redis.url]
      const production = await startGateway({ directory, args: [...args, '--deployment', 'production'] })
      const staging = await startGateway({
        directory,
        args: [...args, '--deployment', 'staging'],
        through: [`COUNTERSIGN_ADMIN_KEY=${STAGING_KEY}`],
      })
      const key = await production.key('agent', 'demo-agent')
      expect(await propose(production, key)).toBe('pending_review')
      expect(await propose(staging, key)).toBe(401)
      const list = ['policies', 'status', '--json', '--url', staging.url]
      const env = { COUNTERSIGN_ADMIN_KEY: STAGING_KEY }
      const { out } = await runCli(list, { cwd: directory, env })
      expect((JSON.parse(out) as { instances: unknown[] }).instances).toHaveLength(1)
      const backup = join(directory, 'backup')
      const store = (...named: string[]) => runCli(['store', ...named, ...args], { cwd: directory })
      expect((await store('export', backup, '--deployment', 'production')).code).toBe(0)
      for (const gateway of [production, staging]) await gateway.process.kill('SIGTERM')
      expect((await store('restore', backup, '--deployment', 'staging')).err).toMatch(
        'there is a store in this Redis',
      )
      expect((await store('restore', backup, '--deployment', 'other')).code).toBe(0)
      expect((await store('check', '--deployment', 'other')).out).toMatch(/^fine/)
      expect((await store('check', '--deployment', 'staging')).out).toMatch(/^fine/)
      const keys = await redis.ask('EVAL', `return #redis.call('KEYS', 'cs:*')`, '0')
      expect(keys).toBe('0')
    })
  })

  it('a data directory belongs to one deployment, and a restore moves it to another name', async () => {
    await inDirectory(async (directory) => {
      const data = ['--store', `file:${directory}/data`]
      const gateway = await startGateway({ directory, args: ['--deployment', 'production'] })
      await gateway.process.kill('SIGTERM')
      const marker = JSON.parse(readFileSync(join(directory, 'data', 'store.json'), 'utf8')) as object
      expect(marker).toMatchObject({ format: 'countersign/5', deployment: 'production' })
      for (const [args, name] of [
        [['--deployment', 'staging'], 'is `staging`'],
        [[], 'has no name'],
      ] as const)
        expect(await refusedStart([], ...data, ...args)).toMatch(
          `the store belongs to another deployment: its deployment is \`production\`, and that of this command ${name} (COUNTERSIGN_DEPLOYMENT)`,
        )
      const backup = join(directory, 'backup')
      const store = (...args: string[]) => runCli(['store', ...args], { cwd: directory })
      expect((await store('export', backup, ...data)).err).toMatch('belongs to another deployment')
      expect((await store('export', backup, ...data, '--deployment', 'production')).code).toBe(0)
      const moved = ['--store', `file:${directory}/moved`, '--deployment', 'staging']
      expect((await store('restore', backup, ...moved)).code).toBe(0)
      expect((await store('check', ...moved)).code).toBe(0)
    })
  })

  it('the admin key rotates while gateways run: both keys work for the overlap', async () => {
    await inDirectory(async (directory) => {
      const production = await startGateway({ directory, args: ['--store', redis.url] })
      await production.key('agent', 'demo-agent')
      const env = { COUNTERSIGN_ADMIN_KEY: STAGING_KEY }
      const rotate = ['store', 'rotate-admin-key', '--overlap', '1h', '--store', redis.url]
      const { code, err } = await runCli(rotate, { cwd: directory, env })
      expect([code, err]).toEqual([
        0,
        expect.stringMatching(/^the configured admin key is in force in .*; the old key works until /),
      ])
      const next = await startGateway({
        directory,
        args: ['--store', redis.url],
        through: [`COUNTERSIGN_ADMIN_KEY=${STAGING_KEY}`],
      })
      for (const gateway of [production, next]) {
        expect(await gateway.key('agent', 'demo-agent')).toMatch(/^csk_acme_/)
        await gateway.process.kill('SIGTERM')
      }
    })
  })
})
