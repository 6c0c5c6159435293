import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { checkStore } from '../../src/gateway/integrity/store.ts'
import { parseRedisAddress } from '../../src/store/redis/address.ts'
import { openRedisArchive } from '../../src/store/redis/archive.ts'
import { openRedisStore } from '../../src/store/redis/store.ts'
import {
  Agent,
  type Answer,
  newTask,
  openWorld,
  type Proposal,
  Reviewer,
  REVIEWED,
  type World,
} from '../gateway-fixture.ts'
import { type OneWay, startOneWay } from '../redis/one-way.ts'
import { type RedisServer, startRedis } from '../redis/server.ts'
import { eventually } from '../redis/topologies.ts'
import { rounds } from '../runs.ts'
import { stopwatch } from '../stopwatch.ts'

/** Operators, slow scripts and a full memory trouble a Redis, under the load of three gateways. */
const ROUNDS = rounds({ check: 1, short: 1, long: 10 })
const GATEWAYS = 3
const CLIENTS = 6
const DEADLINE_MS = 1_000
/** The bound of one answer: the work before the commit, the commit, and the delay of a busy machine. */
const LONGEST_MS = 2 * DEADLINE_MS + 400
const TROUBLE_MS = 400
/** Longer than a call, and than a server may be silent. */
const LONG_TROUBLE_MS = 1_300

let redis: RedisServer
let way: OneWay
let worlds: World[]
let agents: Agent[]
let reviewers: Reviewer[]

beforeAll(async () => {
  redis = await startRedis()
  way = await startOneWay(redis.port)
  const address = parseRedisAddress(`redis://127.0.0.1:${way.port}`)
  const openStore = (): ReturnType<typeof openRedisStore> => openRedisStore({ address, callMs: DEADLINE_MS })
  const config = { storeDeadline: DEADLINE_MS }
  worlds = []
  while (worlds.length < GATEWAYS)
    worlds.push(await openWorld({ openStore, config, timerEveryMs: 200, checkpointEveryMs: 300 }))
  const [first] = worlds as [World]
  const [agent, reviewer] = [await first.agent('other'), await first.reviewer('ann')]
  agents = worlds.map((world) => new Agent(world, agent.key))
  reviewers = worlds.map((world) => new Reviewer(world, reviewer.key))
})
afterAll(async () => {
  for (const world of worlds) await world.close()
  await way.close()
  await redis.dispose()
})

/** A server in trouble may answer with an error, or not at all. */
const tell = (...command: readonly string[]): Promise<string> => redis.ask(...command).catch(String)
const pausing =
  (what: 'ALL' | 'WRITE') =>
  async (ms: number): Promise<void> => {
    await tell('CLIENT', 'PAUSE', String(ms), what)
    await pause(ms)
  }

const TROUBLES: Readonly<Record<string, (ms: number) => Promise<unknown>>> = {
  'paused writes': pausing('WRITE'),
  'paused clients': pausing('ALL'),
  'lost answers': async (ms) => {
    way.mute()
    await pause(ms)
    way.heal()
  },
  'killed connections': () => tell('CLIENT', 'KILL', 'TYPE', 'normal'),
  'killed subscriptions': () => tell('CLIENT', 'KILL', 'TYPE', 'pubsub'),
  'forgotten scripts': () => tell('SCRIPT', 'FLUSH'),
  'full memory': async (ms) => {
    await tell('CONFIG', 'SET', 'maxmemory', '1')
    await pause(ms)
    await tell('CONFIG', 'SET', 'maxmemory', '0')
  },
  'a slow script of somebody else': async (ms) => {
    await tell('CONFIG', 'SET', 'busy-reply-threshold', '50')
    const slow = tell('EVAL', 'while true do local a = 1 end', '0')
    await pause(ms)
    await tell('SCRIPT', 'KILL')
    await slow
  },
  'a process that stands still': async (ms) => {
    redis.signal('SIGSTOP')
    await pause(ms)
    redis.signal('SIGCONT')
  },
  'a primary that is made a replica for a while': async (ms) => {
    await tell('REPLICAOF', '127.0.0.1', '1')
    await pause(ms)
    await tell('REPLICAOF', 'NO', 'ONE')
  },
  'a crash': async (ms) => {
    await redis.kill()
    await pause(ms)
    await redis.start()
  },
}

/** Leaf hashes by number, as they were acknowledged. */
const receipts = new Map<number, string>()
/** Tasks of one call each, whose answer says that nothing was changed. */
const unchanged = new Set<string>()
const wrong: string[] = []
const seen = new Set<string>()

async function noted<T>(what: string, call: Promise<Answer<T>>): Promise<T | undefined> {
  const tookMs = stopwatch()
  const { status, headers, body, problem } = await call
  const took = Math.round(tookMs())
  if (took > LONGEST_MS) wrong.push(`${what} took ${took} ms`)
  seen.add(status === 200 ? what : problem.code)
  if (status !== 200 && status !== 503) wrong.push(`${what}: ${status} ${problem.code}`)
  if (status !== 200) return undefined
  const [number, leaf] = headers.get('countersign-evidence')?.split(':') ?? []
  if (number !== undefined && receipts.has(Number(number))) wrong.push(`${what}: a second receipt ${number}`)
  if (number !== undefined) receipts.set(Number(number), leaf ?? '')
  return body
}

async function submit(agent: Agent, task: string, proposal: Proposal): Promise<string | undefined> {
  const call = agent.submit(task, proposal)
  const body = await noted(`submit ${proposal.tool_name}`, call)
  if ((await call).problem.code === 'store_unavailable') unchanged.add(task)
  return body?.thread_id
}

/** Whole lives of threads, each call at another gateway. */
async function client(name: number, running: () => boolean): Promise<void> {
  const at = <T>(all: readonly T[], i: number): T => all[(name + i) % all.length] as T
  for (let i = 0; running(); i++) {
    await submit(at(agents, i), newTask(), { tool_name: 't', payload: {} })
    const task_id = newTask()
    const thread_id = await submit(at(agents, i), task_id, { tool_name: 'pay', payload: REVIEWED })
    if (thread_id === undefined) continue
    const wait = { headers: { prefer: 'wait=1' } }
    const waiting = noted('wait', at(agents, i + 1).poll({ thread_id }, wait))
    await noted('vote', at(reviewers, i).approve(thread_id))
    const first = await waiting
    const polled =
      first?.status === 'approved' ? first : await noted('poll', at(agents, i + 2).poll({ thread_id }))
    const proof = { task_id, signature: polled?.approval_token ?? '', request_payload: REVIEWED }
    const redeem = (k: number): ReturnType<typeof noted<{ valid: boolean }>> =>
      noted('redeem', at(agents, i + k).validate(proof))
    const said = [...(await Promise.all([redeem(0), redeem(1)])), await redeem(2)]
    if (said.filter((one) => one?.valid === true).length > 1) wrong.push(`${thread_id} was valid twice`)
  }
}

const works = async (): Promise<boolean> => {
  const calls = agents.map((agent) => agent.submit(newTask(), { tool_name: 't', payload: {} }))
  return (await Promise.all(calls)).every(({ status }) => status === 200)
}

it(
  'a Redis in trouble loses no acknowledged write, keeps no refused one, honours no proof twice, and recovers soon',
  async () => {
    let over = false
    const load = Array.from({ length: CLIENTS }, (_, i) => client(i, () => !over))
    for (let round = 0; round < ROUNDS; round++)
      for (const [i, trouble] of Object.values(TROUBLES).entries()) {
        await trouble(i % 2 === round % 2 ? TROUBLE_MS : LONG_TROUBLE_MS)
        await eventually(works)
      }
    over = true
    await Promise.all(load)
    // a slow machine gets through no whole life between two troubles
    let lives = 0
    await client(0, () => lives++ === 0)
    const evidence = await (worlds[0] as World).allEvidence()
    const lost = [...receipts].filter(([number, leaf]) => evidence[number - 1]?.leaf_hash !== leaf)
    const there = evidence.flatMap(({ record: { task_id = '' } }) => (unchanged.has(task_id) ? task_id : []))
    expect({ wrong, lost, there }).toEqual({ wrong: [], lost: [], there: [] })
    const usual = ['submit t', 'submit pay', 'vote', 'wait', 'redeem', 'store_unavailable']
    expect([...seen]).toEqual(expect.arrayContaining(usual))
    const archive = await openRedisArchive({ address: parseRedisAddress(redis.url) })
    expect((await checkStore(archive)).findings).toEqual([])
    await archive.close()
  },
  ROUNDS * 60_000,
)
