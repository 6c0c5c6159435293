import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openEmbeddedStore } from '../../src/store/embedded/store.ts'
import { runCli } from '../cli/run.ts'
import { MAIN, startProcess } from '../crash.ts'
import { type RedisServer, startRedis } from '../redis/server.ts'
import { inDirectory, startGateway, STARTER_POLICIES } from './gateway.ts'

/** A start whose clock is far ahead of everything that the store has seen. */

const DAY_MS = 24 * 3_600_000
const today = (): string => new Date().toISOString().slice(0, 10)
let redis: RedisServer
beforeAll(async () => void (redis = await startRedis()))
afterAll(() => redis.dispose())

async function expectAccepted(directory: string, store: string): Promise<void> {
  const serve = [
    'serve',
    '--port',
    '0',
    '--metrics-port',
    '0',
    '--policies',
    STARTER_POLICIES,
    '--store',
    store,
  ]
  const refused = async (...args: string[]): Promise<void> => {
    const { code, errors } = await startProcess(MAIN, [...serve, ...args]).ended
    expect([code, errors]).toEqual([
      1,
      expect.stringMatching(
        new RegExp(
          `the clock reads .*, more than a day after the last commit \\(.*start once with --accept-clock ${today()}`,
        ),
      ),
    ])
  }
  await refused()
  await refused('--accept-clock', new Date(Date.now() - DAY_MS).toISOString().slice(0, 10))
  const gateway = await startGateway({ directory, args: ['--store', store, '--accept-clock', today()] })
  await gateway.process.kill('SIGTERM')
  // the accepted start has committed, so the next one needs no word
  const next = await startGateway({ directory, args: ['--store', store] })
  await next.process.kill('SIGTERM')
}

describe('a start more than a day after the last commit', () => {
  it('is refused until a person accepts the clock: embedded store', async () => {
    await inDirectory(async (directory) => {
      const path = `${directory}/data`
      const before = Date.now() - 2 * DAY_MS
      const old = await openEmbeddedStore({ path, clock: { wall: () => before, monotonic: () => 0 } })
      await old.close()
      await expectAccepted(directory, `file:${path}`)
    })
  })

  it('is refused until a person accepts the clock: Redis', async () => {
    await inDirectory(async (directory) => {
      await redis.ask('HSET', 'cs:{_system}:h', 'v', 'countersign/5', 't', String(Date.now() - 2 * DAY_MS))
      await expectAccepted(directory, redis.url)
    })
  })

  it('is refused without a trace: the refused start records no time', async () => {
    await inDirectory(async (directory) => {
      const path = `${directory}/data`
      const clock = (wall: number) => ({ wall: () => wall, monotonic: () => 0 })
      const now = Date.now()
      await (await openEmbeddedStore({ path, clock: clock(now) })).close()
      const ahead = openEmbeddedStore({
        path,
        clock: clock(now + 365 * DAY_MS),
        checkTime: () => {
          throw new Error('refused')
        },
      })
      await expect(ahead).rejects.toThrow('refused')
      const store = await openEmbeddedStore({ path, clock: clock(now) })
      expect(store.now()).toBe(now)
      await store.close()
      expect((await runCli(['store', 'check', '--store', `file:${path}`], { cwd: directory })).code).toBe(0)
    })
  })
})
