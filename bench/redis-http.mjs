/*
 * Parts of redis.mjs over HTTP: the allow path on one gateway and on two, with the processor time of every process involved.
 */
import { cpuOf, median, startGateway } from './gateway.mjs'
import { load, requestBytes } from './load.mjs'
import { ASYNC, startRedis, startReplica } from './redis-server.mjs'

const PATH = '/api/agent/tasks/task-1/requests'
const ALLOWED = {
  tool_name: 'ledger.transfer',
  workflow_name: 'monthly-closing',
  task_label: 'move travel money',
  payload: {
    from: 'acct_ops',
    to: 'acct_travel',
    amount_cents: 2_500,
    currency: 'eur',
    memo: 'train tickets',
  },
  action_hash: '4f1c0d5a9e8b7a6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c',
}

/** One gateway, on each kind of store: the price of Redis, of `appendfsync always` and of a replica. */
export async function measureStores(options) {
  const durable = await startRedis()
  const everysec = await startRedis({ appendfsync: 'everysec' })
  const primary = await startRedis()
  const replica = await startReplica(primary)
  const on = async (redis, settings) => ({
    gateways: [await startGateway({ pinned: options.pinned, store: redis.url, settings })],
    redis: [redis],
  })
  const rows = {
    embedded: { gateways: [await startGateway({ pinned: options.pinned })], redis: [] },
    'redis, always': await on(durable, []),
    'redis, everysec': await on(everysec, ASYNC),
    'redis, always, 1 replica': {
      ...(await on(primary, ['--store-replicas', '1'])),
      redis: [primary, replica],
    },
  }
  const results = await measure(rows, options)
  await end(rows)
  print(results, 'embedded')
  const ratio = (name, other) => ratioOf(results, name, other)
  const [one, price] = [
    ratio('redis, always', 'embedded'),
    ratio('redis, always, 1 replica', 'redis, always'),
  ]
  console.log(`one gateway on Redis: ${one.toFixed(2)} x embedded (goal >= 0.7): ${met(one >= 0.7)}`)
  console.log(`one replica that confirms (WAIT): ${price.toFixed(2)} x without`)
}

/** Two gateways on one Redis against one of them alone. Nothing is pinned: the kernel shares the cores out. */
export async function measureTwo(options) {
  const redis = await startRedis()
  const gateways = [await startGateway({ store: redis.url }), await startGateway({ store: redis.url })]
  const rows = {
    'one gateway': { gateways: [gateways[0]], redis: [redis] },
    'two gateways': { gateways, redis: [redis] },
  }
  const results = await measure(rows, { ...options, awake: false })
  await end({ all: { gateways, redis: [redis] } })
  print(results, 'one gateway')
  const ratio = ratioOf(results, 'two gateways', 'one gateway')
  const { load: generator, gateway, redis: server } = cpuPerRequest(results['one gateway'])
  const two = cpuPerRequest(results['two gateways'])
  const busy = middle(results['two gateways'], (one) => one.share.gateway + one.share.redis + one.share.load)
  console.log(`two gateways: ${ratio.toFixed(2)} x one (goal >= 1.7 until the machine is the limit)`)
  console.log(
    `processor time of one request with two gateways: gateway ${two.gateway} us, Redis ${two.redis} us, load generator ${two.load} us ` +
      `(with one: ${gateway}, ${server}, ${generator}); ${(busy / 100).toFixed(2)} cores of ${options.cores} were busy`,
  )
  const machine = (options.cores * 1e6) / (two.gateway + two.redis + two.load)
  console.log(
    `${options.cores} cores hold ${Math.round(machine)}/s of it however many gateways there are; with a core for each process, a gateway does ` +
      `${Math.round(1e6 / two.gateway)}/s and one Redis ${Math.round(1e6 / two.redis)}/s: ${(two.gateway / two.redis).toFixed(1)} gateways`,
  )
}

async function measure(rows, { seconds, rounds, connections, awake = true }) {
  const results = Object.fromEntries(Object.keys(rows).map((name) => [name, []]))
  for (const { gateways } of Object.values(rows)) {
    const key = await gateways[0].key('agent', 'demo-agent') // all gateways of a row share it
    for (const gateway of gateways)
      gateway.request = requestBytes(gateway.url, { path: PATH, key, body: ALLOWED })
  }
  for (let round = 0; round <= rounds; round++) {
    for (const [name, row] of Object.entries(rows)) {
      const result = await once(row, { seconds: round === 0 ? 1 : seconds, connections, awake })
      if (round > 0) results[name].push(result)
    }
  }
  return results
}

async function once({ gateways, redis }, options) {
  const pids = {
    gateway: gateways.map(({ pid }) => pid),
    redis: redis.map((one) => one.pid()),
    load: [process.pid],
  }
  const used = () => Object.entries(pids).map(([part, all]) => [part, sum(all.map(cpuOf))])
  const [before, started] = [Object.fromEntries(used()), performance.now()]
  const loads = await Promise.all(
    gateways.map(({ url, request }) => load(url, { ...options, next: () => request })),
  )
  const elapsedUs = (performance.now() - started) * 1000
  const cpu = Object.fromEntries(used().map(([part, us]) => [part, us - before[part]]))
  for (const { unexpected } of loads)
    if (Object.keys(unexpected).length > 0) console.log('unexpected answers:', unexpected)
  const count = sum(loads.map((one) => one.count))
  return {
    perSecond: sum(loads.map((one) => one.perSecond)),
    p50: median(loads.map((one) => one.p50)),
    p99: Math.max(...loads.map((one) => one.p99)),
    cpu: Object.fromEntries(Object.entries(cpu).map(([part, us]) => [part, us / count])),
    share: Object.fromEntries(Object.entries(cpu).map(([part, us]) => [part, (us / elapsedUs) * 100])),
  }
}

async function end(rows) {
  for (const { gateways, redis } of Object.values(rows)) {
    for (const gateway of gateways) await gateway.stop()
    for (const server of redis.toReversed()) await server.stop()
  }
}

const sum = (values) => values.reduce((a, b) => a + b, 0)
const met = (yes) => (yes ? 'met' : 'NOT MET')
const middle = (rounds, of) => median(rounds.map(of))
const ratioOf = (results, name, other) =>
  median(results[name].map((one, i) => one.perSecond / results[other][i].perSecond))
const cpuPerRequest = (rounds) =>
  Object.fromEntries(
    ['gateway', 'redis', 'load'].map((part) => [part, Math.round(middle(rounds, (one) => one.cpu[part]))]),
  )

function print(results, base) {
  console.table(
    Object.fromEntries(
      Object.entries(results).map(([name, rounds]) => {
        const cpu = cpuPerRequest(rounds)
        const share = (part) => Math.round(middle(rounds, (one) => one.share[part]))
        return [
          name,
          {
            'answers/s': Math.round(middle(rounds, (one) => one.perSecond)),
            [`x ${base}`]: +ratioOf(results, name, base).toFixed(2),
            'p50 ms': +middle(rounds, (one) => one.p50).toFixed(2),
            'p99 ms': +middle(rounds, (one) => one.p99).toFixed(2),
            'gateway us': cpu.gateway,
            'redis us': cpu.redis,
            'gateway %': share('gateway'),
            'redis %': share('redis'),
            'load %': share('load'),
          },
        ]
      }),
    ),
  )
}
