import { cpSync, existsSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { DeliveryList, WebhookList } from '../../src/contract/webhook.ts'
import { parseRedisAddress } from '../../src/store/redis/address.ts'
import { openRedisStore } from '../../src/store/redis/store.ts'
import type { RedisOptions } from '../../src/store/redis/connect.ts'
import { BUNDLE } from '../bundle.ts'
import {
  Agent,
  edited,
  newTask,
  openWorld,
  type Reviewer,
  REVIEWED,
  type World,
  type WorldOptions,
} from '../gateway-fixture.ts'
import { type RedisServer, type RedisSettings, startRedis } from '../redis/server.ts'
import { eventually } from '../redis/topologies.ts'
import { Listener } from '../stream-listener.ts'

/*
 * A Redis that returns without acknowledged writes: from a torn file, an older copy of its files, or evicted records. A
 * redeemed token is never redeemable again. A used approval gives no second token (docs/operations.md). The gateways
 * accept the loss of unsigned records (`async`). Others stop (lost-store.test.ts).
 */
const endings: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

interface Scene {
  readonly redis: RedisServer
  readonly world: World
  readonly agent: Agent
  readonly reviewer: Reviewer
}

async function scene(
  settings: RedisSettings = {},
  options: Partial<RedisOptions> = {},
  more: WorldOptions = {},
): Promise<Scene> {
  const redis = await startRedis({ ...settings, config: { appendfsync: 'everysec', ...settings.config } })
  endings.push(() => redis.dispose())
  const openStore = (): ReturnType<typeof openRedisStore> =>
    openRedisStore({ address: parseRedisAddress(redis.url), callMs: 1_000, durability: 'async', ...options })
  const world = await openWorld({ openStore, ...more })
  endings.push(() => world.close())
  return { redis, world, agent: await world.agent(), reviewer: await world.reviewer('ann') }
}

async function approved({ agent, reviewer }: Scene): Promise<{ task_id: string; thread_id: string }> {
  const task_id = newTask()
  const { body } = await agent.submit(task_id, { tool_name: 'pay', payload: REVIEWED })
  const thread_id = body.thread_id as string
  expect((await reviewer.approve(thread_id)).status).toBe(200)
  return { task_id, thread_id }
}

async function redeem(agent: Agent, task_id: string, signature: unknown): Promise<unknown> {
  return (await agent.validate({ signature, task_id, request_payload: REVIEWED })).body
}

const ready = (world: World): Promise<void> => eventually(async () => (await world.app.health.ready()).ready)

/** The file that Redis appends to. */
function appended(redis: RedisServer): string {
  const directory = join(redis.directory, 'appendonlydir')
  const names = existsSync(directory) ? readdirSync(directory) : []
  return join(directory, names.find((name) => name.endsWith('.incr.aof')) ?? '')
}

describe('a Redis that lost data', () => {
  it.each(['after the redemption', 'after the minting', 'after the approval'] as const)(
    'everything %s: the token reads invalid, and the approval yields no other',
    async (moment) => {
      const all = await scene()
      const { redis, world, agent } = all
      const { task_id, thread_id } = await approved(all)
      const sizes = { 'after the approval': statSync(appended(redis)).size } as Record<typeof moment, number>
      const { approval_token } = (await agent.poll({ thread_id })).body
      sizes['after the minting'] = statSync(appended(redis)).size
      expect(await redeem(agent, task_id, approval_token)).toEqual({ valid: true })
      sizes['after the redemption'] = statSync(appended(redis)).size
      await redis.kill()
      truncateSync(appended(redis), sizes[moment])
      await redis.start()
      await ready(world)
      const expected = moment === 'after the redemption' ? 'used' : 'invalid'
      expect(await redeem(agent, task_id, approval_token)).toEqual({ valid: false, reason: expected })
      const { body } = await agent.poll({ thread_id })
      expect(body.approval_token).toBeUndefined()
      if (moment !== 'after the redemption')
        expect([body.status, body.message]).toEqual(['rejected', expect.stringMatching(/^store_changed: /)])
      expect(await redeem(agent, task_id, approval_token)).toMatchObject({ valid: false })
    },
  )

  it('gives no second proof from the remaining votes after a lost use, until a reviewer votes again', async () => {
    const { redis, world, agent, reviewer: ann } = await scene()
    const [cat, eve] = await Promise.all([world.reviewer('cat'), world.reviewer('eve')])
    const payload = { amount: 20_000, to: 'audit-7' }
    const { body } = await agent.submit(newTask(), { tool_name: 'pay', payload })
    const { task_id, thread_id = '' } = body
    await cat.approve(thread_id)
    await world.changePolicies(edited('directory.yaml', 'groups: [desk, audit] }', 'groups: [desk] }'))
    expect((await ann.approve(thread_id)).body.status).toBe('pending_review')
    const { size } = statSync(appended(redis))
    await world.changePolicies(BUNDLE)
    const { approval_token: signature } = (await agent.poll({ thread_id })).body
    const request = { signature, task_id, request_payload: payload }
    expect((await agent.validate(request)).body).toEqual({ valid: true })
    await redis.kill()
    truncateSync(appended(redis), size)
    await redis.start()
    await ready(world)
    const wait = { headers: { prefer: 'wait=1' } }
    const { body: decision } = await agent.poll({ thread_id }, wait)
    expect([decision.status, decision.approval_token]).toEqual(['pending_review', undefined])
    await world.due()
    expect((await ann.show(thread_id)).body.status).toBe('pending_review')
    expect((await eve.approve(thread_id)).body.status).toBe('approved')
    expect((await agent.poll({ thread_id })).body.approval_token).toBeTypeOf('string')
  })

  it('loses data when an older copy of its files is restored', async () => {
    const all = await scene()
    const { redis, world, agent } = all
    const { task_id, thread_id } = await approved(all)
    const { approval_token } = (await agent.poll({ thread_id })).body
    const [files, copy] = [join(redis.directory, 'appendonlydir'), join(redis.directory, 'copy')]
    cpSync(files, copy, { recursive: true })
    expect(await redeem(agent, task_id, approval_token)).toEqual({ valid: true })
    await redis.kill()
    rmSync(files, { recursive: true })
    cpSync(copy, files, { recursive: true })
    await redis.start()
    await ready(world)
    expect(await redeem(agent, task_id, approval_token)).toEqual({ valid: false, reason: 'invalid' })
    const refusals = (await world.allEvidence()).filter(({ record }) => record.type === 'token.refused')
    expect(refusals.at(-1)?.record.details).toMatchObject({ reason: 'invalid', because: 'store_changed' })
  })

  it('loses data by eviction: a missing token is invalid', async () => {
    const all = await scene(
      { config: { maxmemory: '200mb', 'maxmemory-policy': 'allkeys-lru' } },
      { accept: ['eviction'] },
    )
    const { redis, agent } = all
    const { task_id, thread_id } = await approved(all)
    const { approval_token } = (await agent.poll({ thread_id })).body
    expect(await redeem(agent, task_id, approval_token)).toEqual({ valid: true })
    const keys = (await redis.ask('KEYS', 'cs:{acme}:r:token:*'))
      .split('\n')
      .filter((line) => line.startsWith('cs:'))
    expect(keys).toHaveLength(1)
    await redis.ask('DEL', ...keys)
    expect(await redeem(agent, task_id, approval_token)).toEqual({ valid: false, reason: 'invalid' })
    expect((await agent.poll({ thread_id })).body.approval_token).toBeUndefined()
  })
})

describe("a gateway's memory of records that Redis lost", () => {
  type Fleet = readonly [World, World]
  const post = async (world: World, path: string, body: object): Promise<void> => {
    const { status } = await world.admin('POST', path, { body: { tenant: 'acme', ...body } })
    expect(status).toBeLessThan(300)
  }

  /** Opens two gateways. `ask` sends a harmless call to the second one. Redis alone forgets the writes of `lost`. */
  async function fleet(
    before: (fleet: Fleet) => Promise<void>,
    lost: (fleet: Fleet) => Promise<void>,
  ): Promise<{ readonly first: World; readonly ask: () => Promise<string> }> {
    const config = { webhooksAllow: '127.0.0.1/32:8443' }
    const { redis, world: first, agent } = await scene({}, {}, { config })
    const openStore = (): ReturnType<typeof openRedisStore> =>
      openRedisStore({ address: parseRedisAddress(redis.url), callMs: 1_000, durability: 'async' })
    const second = await openWorld({ openStore, config })
    endings.push(() => second.close())
    const elsewhere = new Agent(second, agent.key)
    const ask = async (): Promise<string> =>
      (await elsewhere.submit(newTask(), { tool_name: 't', payload: {} })).body.status
    await before([first, second])
    const { size } = statSync(appended(redis))
    await lost([first, second])
    expect(await ask()).toBe('allow')
    await redis.kill()
    truncateSync(appended(redis), size)
    await redis.start()
    await Promise.all([first, second].map(ready))
    return { first, ask }
  }

  it('does not hide later changes: a freeze holds on all gateways after a lost freeze and unfreeze', async () => {
    const bot = { agent: 'bot', reason: 'a test' }
    const { first, ask } = await fleet(
      ([one]) => post(one, 'freeze', bot),
      ([one]) => post(one, 'unfreeze', bot),
    )
    // the second revision of the record, as the end of the first freeze was
    await post(first, 'freeze', { tool: 'pay', reason: 'a test' })
    expect(await ask()).toBe('reject')
  })

  it('does not hide later changes: a new destination gets every event', async () => {
    const { first, ask } = await fleet(
      async () => undefined,
      ([one]) => post(one, 'webhooks', { url: 'https://127.0.0.1:8443/forgotten' }),
    )
    await post(first, 'webhooks', { url: 'https://127.0.0.1:8443/' })
    expect(await ask()).toBe('allow')
    const { webhooks } = (await first.admin<WebhookList>('GET', 'webhooks?tenant=acme')).body
    expect(webhooks).toHaveLength(1)
    const path = `webhooks/${webhooks[0]?.id}/deliveries`
    expect((await first.admin<DeliveryList>('GET', path)).body.deliveries).toHaveLength(1)
  })

  it("does not replace a record: an agent's repeated call enters its history again", async () => {
    const contract = (tool: string, labels: string): string =>
      `tool: ${tool}\ndescription: A tool.\nrisk: low\nlabels: [${labels}]\ninput_schema: { type: object }\n`
    const files = {
      'tools/fetch.yaml': contract('fetch', 'untrusted'),
      'tools/send.yaml': contract('send', 'outbound'),
      'rules/history.yaml': `tools: [fetch, send]
rules:
  - id: both-open
    allow: Both are fine.
  - id: untrusted-then-outbound
    review: This task has read untrusted content and now sends data out.
    when: { tool.name: send, task.labels: { some: untrusted } }
`,
    }
    const { redis, world } = await scene({}, {}, { files })
    const [agent, task] = [await world.agent('other'), newTask()]
    const run = async (tool_name: string): Promise<string> =>
      (await agent.submit(task, { tool_name })).body.status
    // another task: the key is known, and Redis forgets only the note
    await agent.submit(newTask(), { tool_name: 'send' })
    const { size } = statSync(appended(redis))
    expect(await run('fetch')).toBe('allow')
    await redis.kill()
    truncateSync(appended(redis), size)
    await redis.start()
    await ready(world)
    expect(await run('send')).toBe('allow')
    expect(await run('fetch')).toBe('allow')
    expect(await run('send')).toBe('pending_review')
  })
})

describe('a Redis that is emptied while a gateway runs', () => {
  it('counts as another store: no key or token is valid, and followers of the queue start again', async () => {
    const all = await scene()
    const { redis, world, agent } = all
    const { task_id, thread_id } = await approved(all)
    const { approval_token } = (await agent.poll({ thread_id })).body
    const listener = await Listener.open(all.reviewer)
    await listener.first('hello')
    await redis.ask('FLUSHALL')
    expect((await agent.submit(task_id, { tool_name: 't' })).status).toBe(401)
    expect((await all.reviewer.show(thread_id)).status).toBe(401)
    const [bot, ann] = [await world.agent(), await world.reviewer('ann')]
    const other = await Listener.open(ann)
    await other.first('hello')
    const waiting = (await bot.submit(newTask(), { tool_name: 'pay', payload: REVIEWED })).body
    await other.first('thread', waiting.thread_id)
    expect(await redeem(bot, task_id, approval_token)).toEqual({ valid: false, reason: 'invalid' })
    await eventually(async () => listener.ended)
    for (const one of [listener, other]) one.close()
  })

  it('makes followers of the queue start again, even if their keys are still valid', async () => {
    const { redis, agent, reviewer } = await scene()
    for (let i = 0; i < 5; i++) await agent.submit(newTask(), { tool_name: 'pay', payload: REVIEWED })
    const listener = await Listener.open(reviewer)
    await listener.first('hello')
    const keys = (await redis.ask('KEYS', 'cs:{acme}:r:*'))
      .split('\n')
      .filter((line) => line.startsWith('cs:'))
    const kept = keys.filter((key) => /:r:(key|holder):/.test(key))
    const copies = await Promise.all(kept.map(async (key) => [key, await redis.ask('GET', key)] as const))
    await redis.ask('FLUSHALL')
    for (const [key, copy] of copies) await redis.ask('SET', key, copy)
    await listener.first('reset')
    const { thread_id } = (await agent.submit(newTask(), { tool_name: 'pay', payload: REVIEWED })).body
    await listener.first('thread', thread_id)
    expect(listener.messages.at(-1)?.id).toBeLessThan(listener.messages[0]?.id ?? 0)
    listener.close()
    // a follower was away, and returns once the numbers have been given out again
    const last = listener.messages[0]
    for (let i = 0; i < 6; i++) await agent.submit(newTask(), { tool_name: 'pay', payload: REVIEWED })
    const late = await Listener.open(reviewer, last?.place)
    await late.first('reset')
    expect(late.messages).toHaveLength(1)
    late.close()
  })
})

describe('a plain restart of Redis', () => {
  it('ends approvals that were not redeemed, and keeps waiting threads', async () => {
    const all = await scene()
    const { redis, world, agent, reviewer } = all
    const { thread_id } = await approved(all)
    const waiting = (await agent.submit(newTask(), { tool_name: 'pay', payload: REVIEWED })).body
    await redis.kill('SIGTERM')
    await redis.start()
    await ready(world)
    expect((await agent.poll({ thread_id })).body).toMatchObject({
      status: 'rejected',
      message:
        'store_changed: the store was restarted, restored or taken over since the approval; ask for a new one',
    })
    expect((await reviewer.approve(waiting.thread_id as string)).status).toBe(200)
    const { body } = await agent.poll({ thread_id: waiting.thread_id as string })
    expect(await redeem(agent, waiting.task_id, body.approval_token)).toEqual({ valid: true })
  })
})
