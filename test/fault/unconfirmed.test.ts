import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parseRedisAddress } from '../../src/store/redis/address.ts'
import { keySpace } from '../../src/store/redis/keys.ts'
import { openRedisStore } from '../../src/store/redis/store.ts'
import { slotOf } from '../../src/store/redis/slots.ts'
import { Agent, type Answer, newTask, openWorld, Reviewer, REVIEWED, type World } from '../gateway-fixture.ts'
import type { RedisServer } from '../redis/server.ts'
import { eventually, type Servers, startCluster } from '../redis/topologies.ts'
import { type Receiver, Receivers } from '../webhooks/receiver.ts'

/*
 * The replica of one shard is suspended. Commits of its tenants are executed, but no replica confirms them, and a
 * failover may undo them. So the gateway reports such a commit to no writer, reader or webhook receiver
 * (docs/operations.md, "An answer is as durable as the settings say, before it leaves").
 */
const SHARDS = 3
/** Bounds the calls that must succeed, too. A machine that stops for a moment must not look like a stopped replica. */
const DEADLINE_MS = 1_000
let redis: Servers
let replica: RedisServer
let world: World
let other: World
let agent: Agent
let ann: Reviewer
let receiver: Receiver
const receivers = new Receivers()

const shardOf = (tenant: string): number => Math.floor((slotOf(keySpace().of(tenant).head) * SHARDS) / 16_384)

beforeAll(async () => {
  redis = await startCluster(SHARDS, SHARDS)
  // another replica confirms the records of the whole gateway meanwhile
  expect(shardOf('acme')).not.toBe(shardOf('_system'))
  replica = redis.servers[SHARDS + shardOf('acme')] as RedisServer
  const openStore = (): ReturnType<typeof openRedisStore> =>
    openRedisStore({ address: parseRedisAddress(redis.url), replicas: 1, callMs: DEADLINE_MS })
  receiver = await receivers.open()
  const config = { storeDeadline: DEADLINE_MS, webhooksAllow: `127.0.0.1/32:${receiver.port}` }
  const webhooks = { ca: receivers.ca, deadlineMs: 10_000 }
  world = await openWorld({
    openStore,
    config,
    webhooks: { ...webhooks, everyMs: 3_600_000 },
    checkpointEveryMs: 50,
  })
  other = await openWorld({ openStore, config, webhooks: { ...webhooks, everyMs: 20 } })
  const [bot, reviewer] = [await world.agent(), await world.reviewer('ann')]
  // the gateway that is asked again is another one
  agent = new Agent(other, bot.key)
  ann = new Reviewer(world, reviewer.key)
})
afterAll(async () => {
  await world.close()
  await other.close()
  await receivers.dispose()
  await redis.dispose()
})
beforeEach(async () => {
  replica.signal('SIGCONT')
  await eventually(
    async () => (await agent.submit(newTask(), { tool_name: 't', payload: {} })).status === 200,
  )
})

/** Asks while no replica confirms, and again once the replica runs. */
async function unconfirmed<T>(ask: () => Promise<Answer<T>>): Promise<Answer<T>> {
  const { status, problem } = await ask()
  expect([status, problem.code]).toEqual([503, 'outcome_unknown'])
  replica.signal('SIGCONT')
  return ask()
}

describe('a write that no replica has confirmed', () => {
  it.each([
    ['a review', { tool_name: 'pay', payload: REVIEWED }, 'pending_review'],
    ['a refusal', { tool_name: 'unheard-of', payload: {} }, 'reject'],
    ['an allow', { tool_name: 't', payload: {} }, 'allow'],
  ] as const)('%s is not returned for its Idempotency-Key either', async (_, call, status) => {
    const [task, key] = [newTask(), { 'idempotency-key': '"again"' }]
    replica.signal('SIGSTOP')
    expect((await agent.submit(task, call, key)).problem.code).toBe('outcome_unknown')
    const { body, headers } = await unconfirmed(() => agent.submit(task, call, key))
    expect([body.status, headers.get('idempotent-replayed')]).toEqual([status, 'true'])
  })

  it.each([
    ['reject', 'rejected'],
    ['request_changes', 'changes_requested'],
  ] as const)('a vote to %s is not returned by a poll', async (decision, status) => {
    const { body } = await agent.submit(newTask(), { tool_name: 'pay', payload: REVIEWED })
    const thread_id = body.thread_id as string
    replica.signal('SIGSTOP')
    const voted = await ann.vote(thread_id, { decision, revision: 1, comment: 'no' })
    expect(voted.problem.code).toBe('outcome_unknown')
    expect((await unconfirmed(() => agent.poll({ thread_id }))).body.status).toBe(status)
  })

  it('the end of a session is not reported', async () => {
    const signedIn = await world.signIn('ben')
    expect((await signedIn.list()).status).toBe(200)
    replica.signal('SIGSTOP')
    const end = (): Promise<Answer<unknown>> => other.admin('DELETE', 'reviewers/acme/ben/sessions')
    expect((await end()).problem.code).toBe('outcome_unknown')
    expect((await unconfirmed(end)).status).toBe(204)
    expect((await signedIn.list()).status).toBe(401)
  })

  it('the revocation of a key is not reported', async () => {
    await world.reviewer('cat')
    replica.signal('SIGSTOP')
    const revoke = (): Promise<Answer<unknown>> => other.admin('DELETE', 'reviewers/acme/cat/key')
    expect((await revoke()).problem.code).toBe('outcome_unknown')
    expect((await unconfirmed(revoke)).problem.code).toBe('not_found')
  })

  it('a decision is sent to no webhook receiver', async () => {
    await world.admin('POST', 'webhooks', { body: { tenant: 'acme', url: receiver.url } })
    const told = (task: string): boolean => receiver.got.some(({ body }) => body['task_id'] === task)
    const before = newTask()
    await agent.submit(before, { tool_name: 't', payload: {} })
    await eventually(() => Promise.resolve(told(before)))
    replica.signal('SIGSTOP')
    const task = newTask()
    // the first worker that looks leases the delivery, and sends it only if a replica confirms the lease
    const { problem } = await new Agent(world, agent.key).submit(task, { tool_name: 't', payload: {} })
    expect([problem.code, told(task)]).toEqual(['outcome_unknown', false])
    replica.signal('SIGCONT')
    // when the lease of who could not confirm it has ended
    await eventually(() => Promise.resolve(told(task)))
  })

  it.each([
    ['evidence?tenant=acme&after=0&limit=1', '"number":1'],
    ['checkpoints?tenant=acme&limit=1', '"size":'],
  ])('GET %s returns nothing that a reader could keep', async (path, something) => {
    await eventually(async () => (await other.admin('GET', path)).text.includes(something))
    replica.signal('SIGSTOP')
    expect((await unconfirmed(() => other.admin('GET', path))).status).toBe(200)
  })
})
