import { afterEach, describe, expect, it } from 'vitest'
import { runCli } from '../cli/run.ts'
import { type RedisServer, startRedis } from '../redis/server.ts'
import {
  type Answer,
  type Gateway,
  inDirectory,
  SMALL_CENTS,
  startGateway,
  transfer,
  TRANSFER_PATH,
} from './gateway.ts'
import { until } from '../until.ts'

/** A real Redis that answers reads and refuses writes: `/readyz`, the doctor and agents learn it, and why. */

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function server(): Promise<RedisServer> {
  const redis = await startRedis()
  closing.push(() => redis.dispose())
  return redis
}

async function gatewayOn(redis: RedisServer, directory: string): Promise<Gateway> {
  const gateway = await startGateway({ directory, args: ['--store', redis.url, '--store-deadline', '1000'] })
  closing.push(async () => {
    gateway.hangUp()
    await gateway.process.kill('SIGTERM')
  })
  return gateway
}

const CASES: readonly (readonly [string, (redis: RedisServer) => Promise<unknown>, RegExp, RegExp])[] = [
  [
    'is out of memory',
    (redis) => redis.ask('CONFIG', 'SET', 'maxmemory', '1mb'),
    /OOM/,
    /^the store refuses writes: it is out of memory; nothing was changed$/,
  ],
  [
    'has too few replicas',
    (redis) => redis.ask('CONFIG', 'SET', 'min-replicas-to-write', '1'),
    /NOREPLICAS/,
    /^the store refuses writes: too few replicas follow it; nothing was changed$/,
  ],
  [
    'has become a read-only replica',
    async (redis) => redis.ask('REPLICAOF', '127.0.0.1', String((await server()).port)),
    /READONLY|primary/,
    /^the store refuses writes: it is read-only; nothing was changed$/,
  ],
]

describe.each(CASES)('a Redis that %s', (_, refuse, said, detail) => {
  it(
    'makes /readyz 503 with the reason, fails the doctor, and gives agents public words',
    () =>
      inDirectory(async (directory) => {
        const redis = await server()
        const gateway = await gatewayOn(redis, directory)
        const key = await gateway.key('agent', 'demo-agent')
        const propose = (task: string): Promise<Answer> =>
          gateway.ask({ method: 'POST', path: TRANSFER_PATH(task), key, body: transfer(SMALL_CENTS) })
        expect((await propose('before')).status).toBe(200)
        const doctor = (): ReturnType<typeof runCli> =>
          runCli(['doctor', '--store', redis.url, '--port', '0', '--metrics-port', '0'], { cwd: directory })
        // on a busy machine the doctor may warn that the store answers slowly
        expect((await doctor()).out).toMatch(/^(ok|warning) +store /m)
        await refuse(redis)
        const refused = await propose('after')
        expect([refused.status, refused.body['code']]).toEqual([503, 'store_unavailable'])
        expect(refused.body['detail']).toMatch(detail)
        await until(async () => (await gateway.ask({ path: '/readyz' })).status === 503)
        expect((await gateway.ask({ path: '/readyz' })).body).toMatchObject({
          ready: false,
          store: expect.stringMatching(said) as string,
        })
        const found = await doctor()
        expect([found.code, found.out]).toEqual([3, expect.stringMatching(/^error +store .* -> .+$/m)])
      }),
    60_000,
  )
})

describe('a Redis that accepts writes again', () => {
  it(
    'makes the gateway ready again by itself',
    () =>
      inDirectory(async (directory) => {
        const redis = await server()
        const gateway = await gatewayOn(redis, directory)
        const status = async (): Promise<number> => (await gateway.ask({ path: '/readyz' })).status
        await redis.ask('CONFIG', 'SET', 'maxmemory', '1mb')
        await until(async () => (await status()) === 503)
        await redis.ask('CONFIG', 'SET', 'maxmemory', '0')
        await until(async () => (await status()) === 200)
      }),
    60_000,
  )
})
