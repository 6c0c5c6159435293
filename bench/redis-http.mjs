/*
 * Parts of redis.mjs over HTTP: the allow path on one gateway and on two, with the processor time of every process of
 * the benchmark. `others` is the load of the rest of the machine. Ignore a row with a high `others`.
 */
import { readFileSync } from 'node:fs'
import { ALLOWED, PATH } from './calls.mjs'
import { cpuOf, median, startGateway } from './gateway.mjs'
import { load, requestBytes } from './load.mjs'
import { ASYNC, startRedis, startReplica } from './redis-server.mjs'

/** Compares one gateway on each kind of store: the cost of Redis, of `appendfsync always` and of a replica. */
export async function measureStores(given) {
  const options = { ...given, awake: false } // Redis needs the core of the load generator
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

/** The share of a core that a slowed gateway gets. */
const HELD_TO = 0.3

/**
 * Compares two gateways on one Redis with one of these gateways alone. No process is pinned. On few cores, the cores
 * are the limit instead of Redis, so other rows restrict each gateway to a part of a core.
 */
export async function measureTwo(options) {
  const redis = await startRedis()
  const gateways = [await startGateway({ store: redis.url }), await startGateway({ store: redis.url })]
  const rows = {
    'one gateway': { gateways: [gateways[0]], redis: [redis] },
    'two gateways': { gateways, redis: [redis] },
    'one, held back': { gateways: [gateways[0]], redis: [redis], heldTo: HELD_TO },
    'two, held back': { gateways, redis: [redis], heldTo: HELD_TO },
  }
  const results = await measure(rows, { ...options, awake: false })
  await end({ all: { gateways, redis: [redis] } })
  print(results, 'one gateway')
  const ratio = ratioOf(results, 'two gateways', 'one gateway')
  const held = ratioOf(results, 'two, held back', 'one, held back')
  const [one, two] = [cpuPerRequest(results['one gateway']), cpuPerRequest(results['two gateways'])]
  const busy = middle(results['two gateways'], ({ share }) => share.gateway + share.redis + share.load)
  const machine = (options.cores * 1e6) / (two.gateway + two.redis + two.load)
  console.log(
    `two gateways: ${ratio.toFixed(2)} x one, with ${(busy / 100).toFixed(2)} cores of ${options.cores} busy. A request takes ` +
      `${two.gateway} us of a gateway, ${two.redis} of Redis, ${two.load} of the load generator; ${options.cores} cores hold ` +
      `${Math.round(machine)}/s, which is ${(machine / middle(results['one gateway'], (one) => one.perSecond)).toFixed(2)} x one gateway`,
  )
  console.log(
    `each held to ${HELD_TO} of a core: two are ${held.toFixed(2)} x one (goal >= 1.7): ${met(held >= 1.7)}`,
  )
  console.log(
    `with a core for each process, a gateway does ${Math.round(1e6 / one.gateway)}/s and one Redis ${Math.round(1e6 / one.redis)}/s: ` +
      `Redis is the limit from ${(one.gateway / one.redis).toFixed(1)} gateways on`,
  )
}

/** Stops and wakes each process every 20 ms, one after another, to imitate a core with `share` of the speed. */
function holdBack(gateways, share) {
  const period = 20
  const stops = gateways.map(({ pid }, i) => {
    let timer
    const run = () => {
      process.kill(pid, 'SIGCONT')
      timer = setTimeout(stop, period * share)
    }
    const stop = () => {
      process.kill(pid, 'SIGSTOP')
      timer = setTimeout(run, period * (1 - share))
    }
    timer = setTimeout(stop, (period * i) / gateways.length)
    return () => {
      clearTimeout(timer)
      process.kill(pid, 'SIGCONT')
    }
  })
  return () => stops.forEach((stop) => stop())
}

async function measure(rows, { seconds, rounds, connections, awake = true }) {
  const results = Object.fromEntries(Object.keys(rows).map((name) => [name, []]))
  for (const { gateways } of Object.values(rows)) {
    const key = await gateways[0].key('agent', 'demo-agent') // all gateways of a row share this key
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

async function once({ gateways, redis, heldTo }, options) {
  const pids = {
    gateway: gateways.map(({ pid }) => pid),
    redis: redis.map((one) => one.pid()),
    load: [process.pid],
  }
  const used = () => {
    const own = Object.entries(pids).map(([part, all]) => [part, sum(all.map(cpuOf))])
    return [...own, ['others', machineCpu() - sum(own.map(([, us]) => us))]]
  }
  const [before, started] = [Object.fromEntries(used()), performance.now()]
  const letGo = heldTo === undefined ? () => undefined : holdBack(gateways, heldTo)
  const loads = await Promise.all(
    gateways.map(({ url, request }) => load(url, { ...options, next: () => request })),
  )
  letGo()
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

/** Returns the machine's processor time so far, including time that the hypervisor took, in microseconds (Linux). */
function machineCpu() {
  const [, user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]
    .split(/ +/)
    .map(Number)
  return (user + nice + system + irq + softirq + steal) * 10_000
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
            'others %': share('others'),
          },
        ]
      }),
    ),
  )
}
