import { afterAll, beforeAll, expect, it } from 'vitest'
import type { WebhookSecret } from '../../src/contract/webhook.ts'
import { parseRedisAddress } from '../../src/store/redis/address.ts'
import { keySpace } from '../../src/store/redis/keys.ts'
import { openRedisStore } from '../../src/store/redis/store.ts'
import { type Agent, HOUR, newTask, openWorld, overriding, REVIEWED, type World } from '../gateway-fixture.ts'
import { until } from '../until.ts'
import { type RedisServer, startRedis } from '../redis/server.ts'
import { type Receiver, Receivers } from '../webhooks/receiver.ts'

/** A gateway that is started after the clock of Redis was set back: what one tenant has seen lies ahead of it. */

const receivers = new Receivers()
let redis: RedisServer
let world: World
let receiver: Receiver
let bot: Agent
let other: Agent
let hook: string
/** Looks that were taken at the outbox. */
let looks = 0

beforeAll(async () => {
  redis = await startRedis()
  receiver = await receivers.open()
  world = await openWorld({
    openStore: () => openRedisStore({ address: parseRedisAddress(redis.url) }),
    config: { webhooksAllow: `127.0.0.1/32:${receiver.port}` },
    webhooks: { everyMs: 20, ca: receivers.ca },
    timerEveryMs: 20,
    wrapStore: (store) =>
      overriding(store, {
        claimDue(partition, index, claim) {
          if (index.startsWith('outbox/')) looks += 1
          return store.claimDue(partition, index, claim)
        },
      }),
  })
  bot = await world.agent()
  other = await world.agent('bot', 'globex')
  const { body } = await world.admin<WebhookSecret>('POST', 'webhooks', {
    body: { tenant: 'acme', url: receiver.url },
  })
  hook = body.id
})
afterAll(async () => {
  await world.close()
  await receivers.dispose()
  await redis.dispose()
})

const seen = (time: number): Promise<string> => redis.ask('HSET', 'cs:{acme}:h', 't', String(time))
const said = (text: string): Record<string, unknown>[] =>
  world.logged
    .filter((line) => line.includes(text))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
const readiness = async (): Promise<{ status: number; store: string }> => {
  const answer = await fetch(`${world.url}/readyz`)
  return { status: answer.status, ...((await answer.json()) as { store: string }) }
}
/** The delivery that waits is due. */
const makeDue = (): Promise<string> =>
  redis.ask(
    'EVAL',
    `for _, m in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('ZADD', KEYS[1], 1, m) end`,
    '1',
    keySpace().of('acme').index(`outbox/${hook}`),
  )
const noted = async (): Promise<boolean> => {
  const { body } = await world.admin<{ deliveries?: { attempts: number }[] }>(
    'GET',
    `webhooks/${hook}/deliveries`,
  )
  return (body.deliveries?.[0]?.attempts ?? 0) > 0
}

it('explains each refused commit of that tenant, sends no unrecorded delivery, and serves all other tenants', async () => {
  receiver.answer = (_, response) => void response.writeHead(500).end()
  await bot.submit(newTask(), { tool_name: 'pay', payload: REVIEWED })
  await until(noted)
  expect((await readiness()).store).toBe('ready')
  await seen(world.app.deps.store.now() + HOUR)
  await makeDue()
  const before = looks
  await until(() => looks > before + 2)
  expect(receiver.got).toHaveLength(1)

  for (let i = 0; i < 3; i++) {
    const { status, problem } = await bot.submit(newTask(), { tool_name: 't', payload: {} })
    expect([status, problem.code]).toEqual([503, 'store_unavailable'])
  }
  expect((await other.submit(newTask(), { tool_name: 't', payload: {} })).status).toBe(200)
  expect(said('the store cannot answer now')).toMatchObject(
    Array.from({ length: 3 }, () => ({
      reason: expect.stringMatching(
        /^the commit was too late: .* its clock is behind the last write of this tenant/,
      ),
    })),
  )
  expect((await readiness()).status).toBe(200)

  await seen(world.app.deps.store.now())
  await until(async () => (await bot.submit(newTask(), { tool_name: 't', payload: {} })).status === 200)
  const tries = (): number => receiver.got.filter(({ body }) => body.id === receiver.got[0]?.body.id).length
  await until(() => tries() === 2)
})
