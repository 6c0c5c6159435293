/*
 * The queue in front of a gateway. The benchmark measures the cost of the empty queue, and bursts of 500 and 2,000 new
 * connections. In an open loop at twice the gateway's capacity, it measures the served calls, their latency and their
 * cost. During the load, a reviewer, a health probe and an agent with a held call continue to send requests.
 *
 * npm run build && node bench/overload.mjs [seconds] [factor] [embedded|redis]
 */
import { EventEmitter } from 'node:events'
import { leafHash } from '../dist/domain/digest.js'
import { call, cpuOf, memoryOf, pinThisProcess, startGateway } from './gateway.mjs'
import { createAdmission } from '../dist/http/admission/admission.js'
import { burst } from './burst.mjs'
import { load, requestBytes } from './load.mjs'
import { openLoad } from './open-load.mjs'
import { startRedis } from './redis-server.mjs'

const [seconds, factor] = [Number(process.argv[2] ?? 10), Number(process.argv[3] ?? 2)]
const onRedis = process.argv[4] === 'redis'
const PEAK_SECONDS = 3
const PROBE_EVERY_MS = 50
const BURSTS = [500, 2_000, 500, 2_000]
const GOALS = { goodput: 0.9, servedMs: 2_000, idle: 0.01 }

const transfer = (amount_cents) => ({
  tool_name: 'ledger.transfer',
  payload: { from: 'acct_ops', to: 'acct_travel', amount_cents, currency: 'eur', memo: 'train tickets' },
})
const PATH = '/api/agent/tasks/overload/requests'
const rounded = (value, digits = 1) => (value === undefined ? '-' : Number(value.toFixed(digits)))
const quantile = (values, share) => values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]

pinThisProcess()
const redis = onRedis ? await startRedis() : undefined
const gateway = await startGateway({ pinned: true, ...(redis && { store: redis.url }) })
const agent = await gateway.key('agent', 'demo-agent')
const reviewer = await gateway.key('reviewer', 'alice')
const bytes = requestBytes(gateway.url, { path: PATH, key: agent, body: transfer(2_500) })
const held = await call(gateway.url, { method: 'POST', path: PATH, key: agent, body: transfer(25_000) })

const bursts = []
for (const count of BURSTS) bursts.push(await burst(gateway.url, bytes, count))
await load(gateway.url, { next: () => bytes, seconds: 2 })
const before = await peakOf()
const peak = before.perSecond
const atRest = memoryOf(gateway.pid).rss

const probes = probeWhile()
const receipts = []
const served = []
const refused = []
const sent = { served: [], refused: [] }
const unexpected = new Map()
let without = 0
const memory = []
const watching = setInterval(() => memory.push(memoryOf(gateway.pid).rss), 100)
const [busyBefore, ownBefore] = [cpuOf(gateway.pid), cpuOf(process.pid)]
const run = await openLoad(gateway.url, {
  bytes,
  seconds,
  perSecond: peak * factor,
  onAnswer(status, answer, ms, sentMs) {
    if (status === 200) {
      served.push(ms)
      sent.served.push(sentMs)
      receipts.push(/\r\ncountersign-evidence: (\S+)/i.exec(answer)?.[1])
    } else if (status === 503 && answer.includes('"overloaded"')) {
      refused.push(ms)
      sent.refused.push(sentMs)
      if (!/\r\nretry-after: [1-9]/i.test(answer)) without += 1
    } else unexpected.set(status, (unexpected.get(status) ?? 0) + 1)
  },
})
clearInterval(watching)
const cores = (now, before) => rounded((now - before) / 1e6 / seconds, 2)
const busy = [cores(cpuOf(gateway.pid), busyBefore), cores(cpuOf(process.pid), ownBefore)]
const latencies = await probes.stop()
const goodput = served.length / seconds
const unbacked = await unbackedReceipts()
const after = await peakOf()
const ownUs = microsecondsOfQueue()
const perCore = goodput / busy[0]

for (const { count, answers, p50, most } of bursts)
  console.log(
    `burst of ${count}: ${JSON.stringify(answers)}, p50 ${p50.toFixed(0)} ms, the last after ${most.toFixed(0)} ms`,
  )
console.log(
  `\nNode ${process.version}, ${onRedis ? 'Redis' : 'embedded store'}, ${seconds} s at ${factor} x the peak, open loop`,
)
console.table({
  'peak, answers/s (closed loop)': rounded(peak, 0),
  'asked, requests/s': rounded(run.perSecond, 0),
  'served, answers/s': rounded(goodput, 0),
  'served x peak; x the mean of the peaks before and after': [peak, (peak + after.perSecond) / 2]
    .map((one) => rounded(goodput / one, 2))
    .join('; '),
  'served by a core second x peak': rounded(perCore / before.perCore, 2),
  'processor time of an allow, us; of the empty queue, us': `${rounded(1e6 / before.perCore)}; ${rounded(ownUs, 2)}`,
  'served p50, ms': rounded(quantile(served, 0.5)),
  'served p99, ms': rounded(quantile(served, 0.99)),
  'refused, answers/s': rounded(refused.length / seconds, 0),
  'refused p50, ms': rounded(quantile(refused, 0.5)),
  'refused p99, ms': rounded(quantile(refused, 0.99)),
  'served p50, p99 from when it was sent, ms': [0.5, 0.99]
    .map((share) => rounded(quantile(sent.served, share)))
    .join(', '),
  'refused p50, p99 from when it was sent, ms': [0.5, 0.99]
    .map((share) => rounded(quantile(sent.refused, share)))
    .join(', '),
  'refused without Retry-After': without,
  'other answers': JSON.stringify(Object.fromEntries(unexpected)),
  'never sent / unanswered / broken': `${run.neverSent} / ${run.unanswered} / ${run.broken}`,
  connections: run.connections,
  'reviewer p99, ms': rounded(quantile(latencies.reviewer, 0.99)),
  'readyz p99, ms': rounded(quantile(latencies.readyz, 0.99)),
  'held poll answered (failures)': `${latencies.waits.length} (${latencies.failures.length}: ${latencies.failures.join('; ')})`,
  'cores: gateway, load': busy.join(', '),
  'allows without evidence': unbacked,
  'memory before -> most, MB': `${rounded(atRest / 1024, 0)} -> ${rounded(Math.max(...memory) / 1024, 0)}`,
  'after the overload x peak': rounded(after.perSecond / peak, 2),
})
const goals = {
  'bursts are served wholly': bursts.every(({ count, answers }) => answers['200'] === count),
  [`goodput >= ${GOALS.goodput} x peak, for a core second`]: perCore / before.perCore >= GOALS.goodput,
  [`goodput >= ${GOALS.goodput} x peak (not meaningful on a shared machine)`]:
    goodput / peak >= GOALS.goodput,
  [`served p99 <= ${GOALS.servedMs} ms from when it was sent`]: quantile(sent.served, 0.99) <= GOALS.servedMs,
  'every refusal has Retry-After': without === 0,
  [`the empty queue takes < ${GOALS.idle * 100} % of an allow`]: (ownUs * before.perCore) / 1e6 < GOALS.idle,
  'no allow without evidence': unbacked === 0,
}
for (const [goal, met] of Object.entries(goals)) console.log(`${goal}: ${met ? 'met' : 'NOT MET'}`)
await gateway.stop()
await redis?.stop()

function sum(counts) {
  return Object.values(counts).reduce((all, count) => all + count, 0)
}

/** Returns the most answers in one second, and in one second of the gateway's processor time. */
async function peakOf() {
  const peaks = []
  for (const connections of [64, 128, 256]) {
    const cpu = cpuOf(gateway.pid)
    const run = await load(gateway.url, { next: () => bytes, connections, seconds: PEAK_SECONDS })
    const answers = run.count - sum(run.unexpected)
    peaks.push({
      perSecond: (run.perSecond * answers) / run.count,
      perCore: (answers * 1e6) / (cpuOf(gateway.pid) - cpu),
    })
  }
  return {
    perSecond: Math.max(...peaks.map((one) => one.perSecond)),
    perCore: Math.max(...peaks.map((one) => one.perCore)),
  }
}

/** Returns the microseconds to enter and leave an empty queue, with the listeners that every response has. */
function microsecondsOfQueue() {
  const sender = { tenant: 'acme', holder: 'acme' }
  const admission = createAdmission({
    bodyBytes: 262_144,
    senderOf: () => sender,
    onOverload: () => undefined,
  })
  const request = { url: PATH, headers: { 'content-length': '200' }, complete: true, readableLength: 0 }
  const times = []
  for (let round = 0; round < 20; round++) {
    const started = process.cpuUsage()
    for (let i = 0; i < 10_000; i++) {
      const response = new EventEmitter()
      admission.enter(request, response, () => undefined)
      response.emit('prefinish')
    }
    times.push(process.cpuUsage(started).user / 10_000)
  }
  admission.close()
  return Math.min(...times)
}

/** Returns the number of receipts without an allow record. A receipt must name a record whose hash is the receipt's
 * leaf. */
async function unbackedReceipts() {
  const wanted = new Map(receipts.map((receipt) => receipt?.split(':') ?? ['', '']))
  const repeated = receipts.length - wanted.size
  let after = Math.min(...[...wanted.keys()].map(Number)) - 1
  for (;;) {
    const lines = (await gateway.evidence(after)).split('\n').filter((line) => line !== '')
    if (lines.length === 0) return wanted.size + repeated
    for (const line of lines) {
      const { number, record } = JSON.parse(line)
      const leaf = leafHash(line.slice(line.indexOf(',"record":') + 10, -1))
      if (wanted.get(String(number)) === leaf && record.type === 'decision.allowed')
        wanted.delete(String(number))
      after = number
    }
  }
}

/** Measures the latency of a reviewer, a probe and a waiting agent until `stop`. */
function probeWhile() {
  const latencies = { reviewer: [], readyz: [], waits: [], failures: [] }
  let running = true
  const timed = async (into, ask) => {
    const start = performance.now()
    await ask().then(
      () => into.push(performance.now() - start),
      (error) => latencies.failures.push(error.message),
    )
  }
  const every = async (into, ask) => {
    while (running) {
      await timed(into, ask)
      await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS))
    }
  }
  const poll = {
    path: `/api/agent/decisions?thread_id=${held.thread_id}`,
    key: agent,
    headers: { prefer: 'wait=1' },
  }
  const all = [
    every(latencies.reviewer, () => call(gateway.url, { path: '/api/review/threads', key: reviewer })),
    every(latencies.readyz, () => call(gateway.url, { path: '/readyz', key: 'none' })),
    every(latencies.waits, () => call(gateway.url, poll)),
  ]
  return {
    stop: async () => {
      running = false
      await Promise.all(all)
      return latencies
    },
  }
}
