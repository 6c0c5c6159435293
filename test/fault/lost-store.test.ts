import { copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAIN, startProcess } from '../crash.ts'
import { type RedisServer, startRedis } from '../redis/server.ts'
import {
  type Gateway,
  inDirectory,
  LARGE_CENTS,
  SMALL_CENTS,
  startGateway,
  STARTER_POLICIES,
  transfer,
  TRANSFER_PATH,
} from './gateway.ts'
import { until } from '../until.ts'

/** A store that was emptied or set back under running gateways. */

interface Head {
  readonly origin: string
  readonly checkpoints: readonly { readonly size: number; readonly root: string; readonly note: string }[]
}

const LIMIT_MS = 5_000
const checkpoints = async (gateway: Gateway): Promise<Head> =>
  (await gateway.admin('GET', '/checkpoints?tenant=acme')).body as unknown as Head
const readiness = async (gateway: Gateway): Promise<{ ready: boolean; store: string }> =>
  (await gateway.ask({ path: '/readyz' })).body as { ready: boolean; store: string }

/** Two decided calls and a held one, all of them signed. */
async function work(gateway: Gateway): Promise<{ key: string; head: Head }> {
  const key = await gateway.key('agent', 'demo-agent')
  for (const [task, cents] of [SMALL_CENTS, SMALL_CENTS, LARGE_CENTS].entries())
    await gateway.ask({ method: 'POST', path: TRANSFER_PATH(`task-${task}`), key, body: transfer(cents) })
  await until(async () => ((await checkpoints(gateway)).checkpoints[0]?.size ?? 0) >= 4)
  return { key, head: await checkpoints(gateway) }
}

/** The gateway stops serving within five seconds, says so once, and answers no agent as if its key were unknown. */
async function expectLost(gateway: Gateway, key: string): Promise<void> {
  const lost = /^the store was emptied or set back while this gateway used it: /
  await until(async () => lost.test((await readiness(gateway)).store), LIMIT_MS)
  expect((await readiness(gateway)).ready).toBe(false)
  const call = { method: 'POST', path: TRANSFER_PATH('after'), key, body: transfer(SMALL_CENTS) }
  expect((await gateway.ask(call)).status).toBe(503)
  const said = gateway.process.lines.filter((line) => line.includes('the store has lost records'))
  expect(said.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(['error'])
  const scrape = await (await fetch(gateway.metricsUrl)).text()
  expect(scrape).toContain('\ncountersign_store_lost 1\n')
}

describe('a store that is lost under running gateways', () => {
  let redis: RedisServer
  beforeAll(async () => void (redis = await startRedis()))
  afterAll(() => redis.dispose())
  const start = (directory: string): Promise<Gateway> =>
    startGateway({ directory, args: ['--store', redis.url] })

  it('emptied under load: both gateways stop within 5 s, sign nothing more, and stay so', async () => {
    await inDirectory(async (directory) => {
      const [one, other] = [await start(directory), await start(directory)]
      const { key, head } = await work(one)
      let loading = true
      const load = async (gateway: Gateway): Promise<void> => {
        for (let i = 0; loading; i++)
          await gateway.ask({
            method: 'POST',
            path: TRANSFER_PATH(`l${i}`),
            key,
            body: transfer(SMALL_CENTS),
          })
      }
      const loads = [load(one), load(other)]
      await redis.ask('FLUSHALL')
      await Promise.all([one, other].map((gateway) => expectLost(gateway, key)))
      loading = false
      await Promise.all(loads)
      expect(await redis.ask('GET', 'cs:{acme}:r:tree:head')).toBe('')
      for (const gateway of [one, other]) await gateway.process.kill('SIGTERM')
      // a person starts it again: the empty store is another log
      const again = await start(directory)
      const { head: second } = await work(again)
      expect(second.origin).not.toBe(head.origin)
      await again.process.kill('SIGTERM')
    })
  })

  it.each([
    ['an empty volume', false],
    ['an older volume', true],
  ])('Redis returns with %s: the gateway is not ready again by itself', async (_, older) => {
    await redis.ask('FLUSHALL')
    await inDirectory(async (directory) => {
      const gateway = await start(directory)
      const { key } = await work(gateway)
      const copy = join(directory, 'volume')
      const volume = join(redis.directory, 'appendonlydir')
      cpSync(volume, copy, { recursive: true })
      for (let i = 0; i < 3; i++)
        await gateway.ask({ method: 'POST', path: TRANSFER_PATH(`n${i}`), key, body: transfer(SMALL_CENTS) })
      await redis.kill()
      rmSync(volume, { recursive: true })
      if (older) cpSync(copy, volume, { recursive: true })
      await redis.start()
      await expectLost(gateway, key)
      await gateway.process.kill('SIGTERM')
    })
  })

  it('the embedded store: a data file replaced by an older copy ends decisions and signatures', async () => {
    await inDirectory(async (directory) => {
      const gateway = await startGateway({ directory })
      const { key, head } = await work(gateway)
      const data = join(directory, 'data')
      copyFileSync(join(data, 'store.mdb'), join(directory, 'older.mdb'))
      rmSync(join(data, 'store.mdb'))
      copyFileSync(join(directory, 'older.mdb'), join(data, 'store.mdb'))
      await until(async () => !(await readiness(gateway)).ready, LIMIT_MS)
      const call = { method: 'POST', path: TRANSFER_PATH('after'), key, body: transfer(SMALL_CENTS) }
      expect((await gateway.ask(call)).status).toBe(503)
      expect((await checkpoints(gateway)).checkpoints[0]).toEqual(head.checkpoints[0])
      await gateway.process.kill('SIGTERM')
    })
  })

  it('an expected store: an empty or older one is refused at start, before anything is written', async () => {
    await redis.ask('FLUSHALL')
    await inDirectory(async (directory) => {
      const refused = async (...args: string[]): Promise<string> => {
        const child = startProcess(MAIN, ['serve', '--port', '0', '--policies', STARTER_POLICIES, ...args])
        const { code, errors } = await child.ended
        expect(code).toBe(1)
        return errors
      }
      const empty = join(directory, 'empty')
      mkdirSync(empty)
      const expecting = ['--store-expect', 'existing']
      expect(await refused('--store', `file:${empty}`, ...expecting)).toMatch('there is no store in')
      expect(await refused('--store', redis.url, ...expecting)).toMatch('not the expected one: it is empty')
      expect(await redis.ask('DBSIZE')).toBe('0')

      const gateway = await start(directory)
      const { key, head } = await work(gateway)
      cpSync(join(redis.directory, 'appendonlydir'), join(directory, 'volume'), { recursive: true })
      await gateway.ask({ method: 'POST', path: TRANSFER_PATH('n'), key, body: transfer(SMALL_CENTS) })
      const size = head.checkpoints[0]?.size ?? 0
      await until(async () => ((await checkpoints(gateway)).checkpoints[0]?.size ?? 0) > size)
      const kept = join(directory, 'checkpoint')
      writeFileSync(kept, (await checkpoints(gateway)).checkpoints[0]?.note ?? '')
      await gateway.process.kill('SIGTERM')
      const withFile = await startGateway({
        directory,
        args: ['--store', redis.url, '--store-checkpoint', kept],
      })
      await withFile.process.kill('SIGTERM')
      await redis.kill()
      rmSync(join(redis.directory, 'appendonlydir'), { recursive: true })
      cpSync(join(directory, 'volume'), join(redis.directory, 'appendonlydir'), { recursive: true })
      await redis.start()
      expect(await refused('--store', redis.url, '--store-checkpoint', kept)).toMatch(
        `not the expected one: ${size + 1} records of \`acme\` were signed, and it knows ${size}`,
      )
    })
  })
})
