/*
 * A gateway that is asked for three times of what it can do, in an open loop: what it still serves, how soon it refuses the rest, and what that costs.
 * Meanwhile a reviewer, a health probe and an agent that waits for people go on asking.
 *
 *   npm run build && node bench/overload.mjs [seconds] [factor] [embedded|redis]
 */
import { leafHash } from '../dist/domain/digest.js'
import { call, cpuOf, memoryOf, pinThisProcess, startGateway } from './gateway.mjs'
import { load, requestBytes } from './load.mjs'
import { openLoad } from './open-load.mjs'
import { startRedis } from './redis-server.mjs'

const [seconds, factor] = [Number(process.argv[2] ?? 10), Number(process.argv[3] ?? 3)]
const onRedis = process.argv[4] === 'redis'
const PEAK_SECONDS = 3
const PROBE_EVERY_MS = 50
const GOALS = { goodput: 0.8, refusedMs: 50 }

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

await load(gateway.url, { next: () => bytes, seconds: 2 })
const peaks = []
for (const connections of [64, 128, 256]) {
  peaks.push({
    connections,
    ...(await load(gateway.url, { next: () => bytes, connections, seconds: PEAK_SECONDS })),
  })
}
const peak = Math.max(
  ...peaks.map(({ perSecond, count, unexpected }) => (perSecond * (count - sum(unexpected))) / count),
)
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
const after = await load(gateway.url, { next: () => bytes, seconds: PEAK_SECONDS })

console.log(
  `\nNode ${process.version}, ${onRedis ? 'Redis' : 'embedded store'}, ${seconds} s at ${factor} x the peak, open loop`,
)
console.table({
  'peak, answers/s (closed loop)': rounded(peak, 0),
  'asked, requests/s': rounded(run.perSecond, 0),
  'served, answers/s': rounded(goodput, 0),
  'served x peak': rounded(goodput / peak, 2),
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
  [`goodput >= ${GOALS.goodput} x peak`]: goodput / peak >= GOALS.goodput,
  [`refused p99 < ${GOALS.refusedMs} ms`]: quantile(refused, 0.99) < GOALS.refusedMs && without === 0,
  'no allow without evidence': unbacked === 0,
}
for (const [goal, met] of Object.entries(goals)) console.log(`${goal}: ${met ? 'met' : 'NOT MET'}`)
await gateway.stop()
await redis?.stop()

function sum(counts) {
  return Object.values(counts).reduce((all, count) => all + count, 0)
}

/** Each receipt names a record, and what hashes to its leaf is an allow. */
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

/** What people, probes and waiting agents see meanwhile. */
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
