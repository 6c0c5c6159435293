/*
 * Part of redis.mjs: many waiting threads in Redis. It measures bytes per thread and per evidence record, and compares
 * the time of a poll with few threads and with many. The gateway's own code opens the threads in this process, without
 * HTTP. Every thread has its own task, which costs the most memory.
 */
import { startApp } from '../dist/app.js'
import { loadConfig } from '../dist/settings/config.js'
import { identify } from '../dist/gateway/auth/identify.js'
import { issueKey } from '../dist/gateway/auth/keys.js'
import { submit } from '../dist/gateway/agent/submit.js'
import { createLog } from '../dist/telemetry/log/log.js'
import { cpuOf, median, plainPolicies, startGateway } from './gateway.mjs'
import { load, requestBytes } from './load.mjs'
import { ASYNC, startRedis } from './redis-server.mjs'

const FEW = 10_000
const CALLERS = 256
const EVIDENCE = 20_000
const POLLS = 5_000
const payload = {
  from: 'acct_ops',
  to: 'acct_travel',
  amount_cents: 25_000,
  currency: 'eur',
  memo: 'train tickets',
}
const HELD = { tool_name: 'ledger.transfer', payload }
const ALLOWED = { ...HELD, payload: { ...payload, amount_cents: 2_500 } }

/** Settings that let a server fill quickly. Durability affects neither bytes nor reads. */
const NO_FILE = { appendonly: 'no' }

export async function measureThreads({ threads, rounds }) {
  const [few, many] = [await startRedis(NO_FILE), await startRedis(NO_FILE)]
  const small = await openFiller(few)
  const large = await openFiller(many)
  const evidence = await bytesPerEvidence(few, small)
  await small.fillTo(FEW)
  const rows = {}
  for (const count of new Set([10_000, 100_000, threads].filter((one) => one <= threads)))
    rows[count] = await fillAndWeigh(many, large, count)
  console.table(rows)
  console.log(`bytes of one evidence record (an allowed call, ${EVIDENCE} of them): ${evidence}`)
  console.log('bytes of one thread by key, MEMORY USAGE:', await partsOf(many, large.ids[FEW >> 1]))
  const ids = { few: small.ids, many: large.ids }
  await small.close()
  await large.close()
  await comparePolls({ few, many, ids, rounds })
  await few.stop()
  await many.stop()
}

/** Opens a gateway in this process, whose functions callers use directly. */
async function openFiller(redis) {
  const args = ['--port', '0', '--metrics-port', '0', '--store', redis.url, '--policies', plainPolicies()]
  const env = { COUNTERSIGN_ADMIN_KEY: 'an-admin-key-for-benchmarks-on-loopback-only' }
  const { config } = loadConfig({ args: [...args, ...ASYNC], env, parseYaml: () => ({}) })
  const app = await startApp(config, { log: createLog('error') })
  const { api_key } = await issueKey(app.deps, { tenant: 'acme', kind: 'agent', id: 'demo-agent' })
  const caller = await identify(app.deps, 'agent', api_key)
  const ids = []
  const callAll = async (count, one) => {
    let left = count
    const work = async () => {
      while (left-- > 0) await one(left)
    }
    await Promise.all(Array.from({ length: CALLERS }, work))
  }
  return {
    ids,
    allow: (count) =>
      callAll(count, (i) => submit(app.deps, caller, { taskId: `task-${i}`, request: ALLOWED })),
    fillTo: (count) =>
      callAll(count - ids.length, async (i) => {
        const { answer } = await submit(app.deps, caller, { taskId: `task-${count - i}`, request: HELD })
        if (answer.status !== 'pending_review') throw new Error(`not held: ${JSON.stringify(answer)}`)
        ids.push(answer.thread_id)
      }),
    close: () => app.close(),
  }
}

async function bytesPerEvidence(redis, filler) {
  await filler.allow(1_000)
  const before = await redis.usedMemory()
  await filler.allow(EVIDENCE)
  return Math.round(((await settled(redis)) - before) / EVIDENCE)
}

async function fillAndWeigh(redis, filler, count) {
  if (filler.ids.length === 0) filler.empty = await redis.usedMemory()
  const [started, from] = [performance.now(), filler.ids.length]
  await filler.fillTo(count)
  const seconds = (performance.now() - started) / 1000
  const used = (await settled(redis)) - filler.empty
  return {
    'used_memory, MB': +(used / 2 ** 20).toFixed(1),
    'bytes per thread': Math.round(used / filler.ids.length),
    'threads/s while filling': Math.round((count - from) / seconds),
  }
}

/** Waits until the buffers of connections are free again. Returns the used memory, bytes. */
async function settled(redis) {
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  return redis.usedMemory()
}

/** Returns the bytes of the keys that belong to one thread only. The other bytes are entries in indexes and evidence.
 * */
async function partsOf(redis, id) {
  const ask = (command, key) => redis.ask(...command, `cs:{acme}:${key}`)
  const { task_id } = JSON.parse((await ask(['GET'], `r:thread:${id}`)).replace(/^.*\n/, ''))
  const keys = {
    thread: `r:thread:${id}`,
    revision: `r:revision:${id}/1`,
    'index of its evidence': `i:evidence/${id}`,
    'index of its task': `i:task/demo-agent/${task_id}`,
  }
  const parts = {}
  for (const [name, key] of Object.entries(keys)) parts[name] = Number(await ask(['MEMORY', 'USAGE'], key))
  return parts
}

/** Measures two gateways alternately, each on its own Redis. */
async function comparePolls({ few, many, ids, rounds }) {
  const sides = {
    few: await pollerOf(few, ids.few),
    many: await pollerOf(many, ids.many),
  }
  const rows = {}
  for (const connections of [1, 64]) {
    const results = { few: [], many: [] }
    for (let round = 0; round <= rounds; round++) {
      for (const [name, side] of Object.entries(sides)) {
        const result = await side.polls(connections)
        if (round > 0) results[name].push(result)
      }
    }
    for (const name of ['few', 'many'])
      rows[`${name}: ${ids[name].length} threads, ${connections} connection${connections > 1 ? 's' : ''}`] = {
        'p50 ms': +median(results[name].map((one) => one.p50)).toFixed(3),
        'p99 ms': +median(results[name].map((one) => one.p99)).toFixed(3),
        'gateway us': Math.round(median(results[name].map((one) => one.gateway))),
        'redis us': Math.round(median(results[name].map((one) => one.redis))),
      }
    const ratio = (at) => median(results.many.map((one, i) => one[at] / results.few[i][at])).toFixed(2)
    console.log(
      `polls over ${connections} connection${connections > 1 ? 's' : ''}, ${ids.many.length} : ${ids.few.length} threads: ` +
        `p99 ${ratio('p99')} x (goal: flat), p50 ${ratio('p50')} x`,
    )
  }
  console.table(rows)
  for (const [name, { gateway }] of Object.entries(sides)) {
    const started = performance.now()
    await (await fetch(gateway.metrics)).text()
    const ms = Math.round(performance.now() - started)
    console.log(`a scrape of /metrics counts the waiting threads: ${ms} ms with ${ids[name].length} threads`)
    await gateway.stop()
  }
}

async function pollerOf(redis, ids) {
  const gateway = await startGateway({ store: redis.url, settings: ASYNC })
  const key = await gateway.key('agent', 'demo-agent')
  const path = () => `/api/agent/decisions?thread_id=${ids[Math.floor(Math.random() * ids.length)]}`
  return {
    gateway,
    async polls(connections) {
      let left = POLLS
      const next = () =>
        left-- > 0 ? requestBytes(gateway.url, { method: 'GET', path: path(), key }) : undefined
      const before = [cpuOf(gateway.pid), cpuOf(redis.pid())]
      const { p50, p99, unexpected } = await load(gateway.url, { next, connections, awake: false })
      if (Object.keys(unexpected).length > 0) console.log('unexpected answers:', unexpected)
      const [gatewayUs, redisUs] = [cpuOf(gateway.pid) - before[0], cpuOf(redis.pid()) - before[1]]
      return { p50, p99, gateway: gatewayUs / POLLS, redis: redisUs / POLLS }
    },
  }
}
