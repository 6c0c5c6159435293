import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseRedisAddress } from '../../src/store/redis/address.ts'
import { openRedisStore } from '../../src/store/redis/store.ts'
import type { Store } from '../../src/store/store.ts'
import {
  Agent,
  edited,
  type EvidenceLine,
  newTask,
  openWorld,
  overriding,
  Reviewer,
  REVIEWED,
  type World,
  type WorldOptions,
} from '../gateway-fixture.ts'
import { checkLinearizable, type Model, type Operation } from '../linearizable.ts'
import { type RedisServer, startRedis } from '../redis/server.ts'
import { eventually } from '../redis/topologies.ts'
import { rounds } from '../runs.ts'
import { Listener } from '../stream-listener.ts'
import { stopwatch } from '../stopwatch.ts'

/** Several gateways on one Redis: they share the work, and none of them promises what another one has kept. */
const TOKENS = Number(process.env['COUNTERSIGN_TEST_TOKENS'] ?? rounds({ check: 8, short: 30, long: 10_000 }))
const RACERS = 64
const INSTANCES = 4
const DEADLINE_MS = 1_000
/** How often a waiting poll looks by itself (src/gateway/agent/poll.ts). */
const SAFETY_NET_MS = 1_000

let redis: RedisServer
let worlds: World[]
let agents: Agent[]
let reviewers: Reviewer[]

const openStore = (): Promise<Store> =>
  openRedisStore({ address: parseRedisAddress(redis.url), callMs: DEADLINE_MS })
const options: WorldOptions = {
  openStore,
  timerEveryMs: 100,
  config: { storeDeadline: DEADLINE_MS },
  files: edited('rules/brief.yaml', 'expires: 1m', 'expires: 2s'),
}

beforeAll(async () => {
  redis = await startRedis()
  worlds = []
  for (let i = 0; i < INSTANCES; i++) worlds.push(await openWorld(options))
  const [first] = worlds as [World]
  const [agent, reviewer] = [await first.agent(), await first.reviewer('ann')]
  agents = worlds.map((world) => new Agent(world, agent.key))
  reviewers = worlds.map((world) => new Reviewer(world, reviewer.key))
})

afterAll(async () => {
  for (const world of worlds) await world.close()
  await redis.dispose()
})

const of = <T>(all: readonly T[], i: number): T => all[i % all.length] as T

async function held(
  agent: Agent,
  payload: object = REVIEWED,
): Promise<{ task_id: string; thread_id: string }> {
  const task_id = newTask()
  const { body } = await agent.submit(task_id, { tool_name: 'pay', payload })
  expect(body.status).toBe('pending_review')
  return { task_id, thread_id: body.thread_id as string }
}

describe('a vote on one instance', () => {
  it('answers a waiting poll on another instance at once, before the next regular check', async () => {
    const late: number[] = []
    for (let i = 0; i < 9; i++) {
      const { thread_id } = await held(of(agents, i))
      const poll = of(agents, i + 1).poll({ thread_id }, { headers: { prefer: 'wait=30' } })
      const watching = of(worlds, i + 1)
      await eventually(async () => watching.watches > 0)
      await pause(30 + i * 97)
      expect((await of(reviewers, i).approve(thread_id)).status).toBe(200)
      const tookMs = stopwatch()
      expect((await poll).body.status).toBe('approved')
      late.push(tookMs())
    }
    expect(late.toSorted((a, b) => a - b)[4]).toBeLessThan(SAFETY_NET_MS / 4)
  })

  it('reaches a poll even when the message is lost', async () => {
    let looks = 0
    const get = async (store: Store, ...name: Parameters<Store['get']>): ReturnType<Store['get']> => {
      const found = await store.get(...name)
      if (name[1] === 'thread') looks += 1
      return found
    }
    const deaf = (store: Store): Store =>
      overriding(store, { watch: (_, signal) => aborted(signal), get: (...name) => get(store, ...name) })
    const world = await openWorld({ ...options, wrapStore: deaf })
    const { thread_id } = await held(of(agents, 0))
    const poll = new Agent(world, of(agents, 0).key).poll({ thread_id }, { headers: { prefer: 'wait=30' } })
    await eventually(async () => looks > 0)
    expect((await of(reviewers, 1).approve(thread_id)).status).toBe(200)
    expect((await poll).body.status).toBe('approved')
    await world.close()
  })
})

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

describe('a freeze on one instance', () => {
  const freeze = async (i: number, act: 'freeze' | 'unfreeze'): Promise<void> => {
    const body = { tenant: 'acme', agent: 'bot', reason: 'it talks to strangers' }
    expect((await of(worlds, i).admin('POST', act, { body })).status).toBe(act === 'freeze' ? 200 : 204)
  }
  const allowed = async (i: number): Promise<string> =>
    (await of(agents, i).submit(newTask(), { tool_name: 't', payload: {} })).body.status

  it('holds on every other instance from the next call on, and so does its end', async () => {
    for (let round = 0; round < 8; round++) {
      expect(await Promise.all(agents.map((_, i) => allowed(i)))).toEqual(agents.map(() => 'allow'))
      await freeze(round, 'freeze')
      expect(await Promise.all(agents.map((_, i) => allowed(i)))).toEqual(agents.map(() => 'reject'))
      await freeze(round + 1, 'unfreeze')
    }
  })

  it('stops every call that is sent after the freeze is answered, under load on all instances', async () => {
    let frozenAt = Infinity
    let stop = false
    const late: string[] = []
    const loads = agents.flatMap((_, i) =>
      Array.from({ length: 8 }, async () => {
        while (!stop) {
          const asked = performance.now()
          if ((await allowed(i)) === 'allow' && asked > frozenAt) late.push(`on instance ${i}`)
        }
      }),
    )
    await pause(300)
    await freeze(0, 'freeze')
    frozenAt = performance.now()
    await pause(300)
    stop = true
    await Promise.all(loads)
    expect(late).toEqual([])
    await freeze(1, 'unfreeze')
  })

  it('is the first reason that another instance gives, also to non-voters and wrong revisions', async () => {
    const { thread_id } = await held(of(agents, 0))
    const dan = new Reviewer(of(worlds, 1), (await of(worlds, 0).reviewer('dan')).key)
    // the other one knows of no freeze
    expect(await allowed(1)).toBe('allow')
    await freeze(0, 'freeze')
    expect((await dan.approve(thread_id)).problem.code).toBe('not_pending')
    await freeze(0, 'unfreeze')
    expect(await allowed(1)).toBe('allow')
    const other = await held(of(agents, 0))
    await freeze(0, 'freeze')
    const misfit = { request_payload: { amount: 'much' } }
    const revised = await of(agents, 1).revise(other.task_id, other.thread_id, misfit)
    expect([revised.status, revised.problem.code]).toEqual([409, 'not_pending'])
    await freeze(0, 'unfreeze')
  })

  it('cancels tokens and waiting calls of all instances for good, and ends polls elsewhere within a second', async () => {
    const granted = await held(of(agents, 0))
    await of(reviewers, 1).approve(granted.thread_id)
    const { approval_token } = (await of(agents, 2).poll({ thread_id: granted.thread_id })).body
    const waiting = await held(of(agents, 1))
    const poll = of(agents, 2).poll({ thread_id: waiting.thread_id }, { headers: { prefer: 'wait=30' } })
    await eventually(async () => of(worlds, 2).watches > 0)
    await freeze(3, 'freeze')
    const sinceFrozen = stopwatch()
    expect((await poll).body.message).toBe('frozen: it talks to strangers')
    expect(sinceFrozen()).toBeLessThan(2 * SAFETY_NET_MS)
    await freeze(0, 'unfreeze')
    const proof = { task_id: granted.task_id, signature: approval_token, request_payload: REVIEWED }
    expect((await of(agents, 1).validate(proof)).body).toEqual({ valid: false, reason: 'invalid' })
    expect((await of(reviewers, 3).approve(waiting.thread_id)).problem.code).toBe('not_pending')
  })
})

describe('a reader of the event stream', () => {
  it('hears events of other instances, and continues on another one when its own ends', async () => {
    const listener = await Listener.open(of(reviewers, 0))
    await listener.first('hello')
    const late: number[] = []
    for (let i = 1; i <= 9; i++) {
      const tookMs = stopwatch()
      const { thread_id } = await held(of(agents, i))
      await listener.first('thread', thread_id)
      late.push(tookMs())
    }
    expect(late.toSorted((a, b) => a - b)[4]).toBeLessThan(SAFETY_NET_MS / 2)
    listener.close()
    const { thread_id } = await held(of(agents, 3))
    await of(reviewers, 2).approve(thread_id)
    const elsewhere = await Listener.open(of(reviewers, 1), listener.messages.at(-1)?.id ?? 0)
    await elsewhere.first('hello')
    expect(elsewhere.about(thread_id)).toEqual(['review.pending', 'vote.cast', 'review.approved'])
    elsewhere.close()
  })
})

describe('one-time proofs on four instances', () => {
  type Said = 'valid' | 'used'
  const proof: Model<'fresh' | 'used', 'redeem', Said> = {
    initial: 'fresh',
    next: (state, _, output) =>
      output === undefined || output === (state === 'fresh' ? 'valid' : 'used') ? ['used'] : [],
  }

  it(
    `${TOKENS} tokens, each raced for by ${RACERS} callers: one valid each unless its answer was lost, all linearizable`,
    async () => {
      let answers = 0
      let unconfirmed = 0
      for (let t = 0; t < TOKENS; t++) {
        const { task_id, thread_id } = await held(of(agents, t))
        await of(reviewers, t + 1).approve(thread_id)
        const { body } = await of(agents, t + 2).poll({ thread_id })
        const history: Operation<'redeem', Said>[] = []
        await Promise.all(
          Array.from({ length: RACERS }, async (_, i) => {
            const call = performance.now()
            const { status, body: said } = await of(agents, i).validate({
              signature: body.approval_token,
              task_id,
              request_payload: REVIEWED,
            })
            const output = said.valid ? 'valid' : (said.reason as Said)
            if (status === 503) history.push({ call, return: undefined, input: 'redeem' })
            else history.push({ call, return: performance.now(), input: 'redeem', output })
          }),
        )
        const unknown = history.filter((one) => one.return === undefined).length
        const valid = history.filter(({ output }) => output === 'valid').length
        expect([valid, unknown > 0]).toEqual(
          unknown > 0 ? [expect.toSatisfy((n) => n < 2), true] : [1, false],
        )
        expect(checkLinearizable(history, proof)).toMatchObject({ linearizable: true })
        unconfirmed += unknown
        answers += history.length
      }
      console.log(
        `${TOKENS} tokens, ${answers} redemptions over ${INSTANCES} instances, ${unconfirmed} of them answered 503, no token valid twice`,
      )
    },
    TOKENS * 15_000,
  )
})

describe('an event that time alone causes', () => {
  it('is handled by exactly one instance, and by the others when one has ended', async () => {
    const [first] = worlds as [World]
    const before = (await first.allEvidence()).length
    const threads = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const { body } = await of(agents, i).submit(newTask(), { tool_name: 'brief', payload: {} })
        return body.thread_id as string
      }),
    )
    const leaving = await openWorld(options)
    await leaving.close()
    await eventually(async () => {
      const records = await first.evidence('acme', before)
      return threads.every((id) =>
        records.some(({ record }) => record.thread_id === id && isExpiry(record.type)),
      )
    })
    const expiries = (await first.evidence('acme', before)).filter(({ record }) => isExpiry(record.type))
    expect(expiries.map(({ record }) => String(record.thread_id)).toSorted()).toEqual(threads.toSorted())
  })

  it('is taken over when the lease of a dead instance expires', async () => {
    const [first] = worlds as [World]
    const { store } = first.app.deps
    const before = (await first.allEvidence()).length
    const { body } = await of(agents, 0).submit(newTask(), { tool_name: 'brief', payload: {} })
    const due = await store.range('acme', 'due', { limit: 1_000 })
    const score = due.find(({ member }) => member === body.thread_id)?.score as number
    const lease = 2_000
    const claimed = await store.claimDue('acme', 'due', { now: score, lease, limit: 1_000 })
    expect(claimed.map(({ member }) => member)).toContain(body.thread_id)
    let expired: EvidenceLine | undefined
    await eventually(async () => {
      expired = (await first.evidence('acme', before)).find(({ record }) => isExpiry(record.type))
      return expired !== undefined
    })
    expect(Date.parse(expired?.record.at as string)).toBeGreaterThanOrEqual(score + lease)
  })
})

const isExpiry = (type: string): boolean => type === 'review.expired'

describe('a Redis that dies under load', () => {
  it('lets ten instances answer in time, allow nothing without evidence, and become ready again', async () => {
    const more: World[] = []
    for (let i = INSTANCES; i < 10; i++) more.push(await openWorld(options))
    const all = [...worlds, ...more]
    const key = of(agents, 0).key
    const acknowledged: string[] = []
    const slow: number[] = []
    let running = true
    const load = all.map(async (world, caller) => {
      const agent = new Agent(world, key)
      for (let i = 0; running; i++) {
        const task = `storm-${caller}-${i}`
        const tookMs = stopwatch()
        const { status, headers } = await agent.submit(task, { tool_name: 't', payload: {} })
        slow.push(tookMs())
        if (status === 200) acknowledged.push(task)
        else expect([status, Number(headers.get('retry-after')) > 0]).toEqual([503, true])
        if (status !== 200) await pause(10)
      }
    })
    await eventually(async () => acknowledged.length > 300)
    await redis.kill()
    await eventually(async () =>
      (await Promise.all(all.map((world) => world.app.health.ready()))).every(({ ready }) => !ready),
    )
    await pause(1_500)
    await redis.start()
    await eventually(async () =>
      (await Promise.all(all.map((world) => world.app.health.ready()))).every(({ ready }) => ready),
    )
    const connections = Number(/total_connections_received:(\d+)/.exec(await redis.ask('INFO', 'stats'))?.[1])
    running = false
    await Promise.all(load)
    expect(connections).toBeLessThan(all.length * 8)
    expect(Math.max(...slow)).toBeLessThan(2 * DEADLINE_MS + 100)
    const recorded = new Set((await (worlds[0] as World).allEvidence()).map(({ record }) => record.task_id))
    expect(acknowledged.filter((task) => !recorded.has(task))).toEqual([])
    for (const world of more) await world.close()
  })
})
