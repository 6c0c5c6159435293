/*
 * The cost of metrics. First, it measures the allow path in one gateway that counts during every other 300 answers.
 * Nothing else differs, so this method works best on a shared machine. Then it compares three gateways with metrics and
 * three without, in alternate rounds. Finally, it measures a scrape of the largest possible number of series, and how
 * long the scrape blocks the event loop.
 *
 * npm run build && node bench/metrics.mjs [seconds per round] [rounds] [connections]
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createMetrics } from '../dist/telemetry/count/metrics.js'
import { cpuOf, median, pinThisProcess, startGateway } from './gateway.mjs'
import { load, requestBytes } from './load.mjs'

const [seconds = 0.5, rounds = 15, connections = 64] = process.argv.slice(2).map(Number)
const SWITCHING_SECONDS = 40
/** Slices that are not counted, while V8 compiles the program; a multiple of four. */
const WARM_SLICES = 40
const ALLOWED = {
  tool_name: 'ledger.transfer',
  payload: {
    from: 'acct_ops',
    to: 'acct_travel',
    amount_cents: 2_500,
    currency: 'eur',
    memo: 'train tickets',
  },
}
const script = fileURLToPath(new URL('./metrics-gateway.mjs', import.meta.url))

pinThisProcess()
await switching()
await cost()
await stall()

async function switching() {
  const file = join(mkdtempSync(join(tmpdir(), 'countersign-bench-metrics-')), 'report.json')
  const gateway = await begin('switching', file)
  await load(gateway.url, { next: gateway.next, connections, seconds: SWITCHING_SECONDS })
  await gateway.stop()
  const slices = JSON.parse(readFileSync(file, 'utf8')).slice(WARM_SLICES)
  rmSync(dirname(file), { recursive: true })
  const pairs = Array.from({ length: Math.floor(slices.length / 2) }, (_, i) =>
    slices.slice(2 * i, 2 * i + 2),
  )
  const of = (on) => pairs.map((pair) => pair.find((one) => one.on === on).cpu)
  const [counted, uncounted] = [of(true), of(false)]
  const ratios = counted.map((cpu, i) => cpu / uncounted[i]).toSorted((a, b) => a - b)
  const at = (share) => ratios[Math.floor(ratios.length * share)].toFixed(3)
  // the standard error of the median of n values with this standard deviation
  const error = (1.25 * (Number(at(0.75)) - Number(at(0.25)))) / 1.35 / Math.sqrt(ratios.length)
  console.log(
    `\none gateway, counting during every other 300 answers: ${median(counted).toFixed(1)} us an answer with metrics, ${median(uncounted).toFixed(1)} without; ` +
      `ratio of the ${ratios.length} pairs: median ${at(0.5)} +- ${error.toFixed(3)} (half of them ${at(0.25)} to ${at(0.75)})`,
  )
  console.log(`goal: metrics < 3 % of the allow path: ${Number(at(0.5)) < 1.03 ? 'met' : 'NOT MET'}`)
}

/** Runs three gateways of each kind, because two processes of one kind differ by more than the cost of metrics. */
async function cost() {
  const modes = ['off', 'on', 'off', 'on', 'off', 'on']
  const gateways = await Promise.all(modes.map(async (mode) => ({ ...(await begin(mode, '-')), rounds: [] })))
  for (let round = 0; round <= rounds; round++) {
    for (const gateway of round % 2 === 0 ? gateways : gateways.toReversed()) {
      const measured = await measure(gateway, seconds)
      if (round > 0) gateway.rounds.push(measured)
    }
  }
  await Promise.all(gateways.map(({ stop }) => stop()))
  report(gateways)
}

async function begin(mode, file) {
  const gateway = await startGateway({ pinned: true, program: [script, mode, file] })
  const key = await gateway.key('agent', 'demo-agent')
  const bytes = requestBytes(gateway.url, { path: '/api/agent/tasks/task-1/requests', key, body: ALLOWED })
  return { ...gateway, mode, next: () => bytes }
}

async function measure({ url, pid, next }, time) {
  const before = cpuOf(pid)
  const { count, perSecond, p99, unexpected } = await load(url, { next, connections, seconds: time })
  if (Object.keys(unexpected).length > 0) console.log('unexpected answers:', unexpected)
  return { perSecond, p99, count, cpu: cpuOf(pid) - before }
}

/** Reports the processor time of all rounds divided by all answers, because one round proves little on a shared
 * machine. */
function report(gateways) {
  const total = (list, of) => list.reduce((sum, one) => sum + of(one), 0)
  const each = (list) => total(list, (one) => one.cpu) / total(list, (one) => one.count)
  const row = ({ mode, rounds: list }) => ({
    metrics: mode,
    'answers/s': Math.round(median(list.map((one) => one.perSecond))),
    'p99 ms': +median(list.map((one) => one.p99)).toFixed(2),
    'server cpu us': +each(list).toFixed(1),
  })
  const all = (mode) => gateways.filter((one) => one.mode === mode).flatMap((one) => one.rounds)
  console.log(
    `\nNode ${process.version}, allow over HTTP, ${connections} connections, ${rounds} rounds of ${seconds} s for each gateway`,
  )
  console.table(gateways.map(row))
  console.log(
    `processor time, all with metrics / all without: ${(each(all('on')) / each(all('off'))).toFixed(3)}`,
  )
}

async function stall() {
  const metrics = fullMetrics()
  const delays = { text: [], openmetrics: [], idle: [] }
  for (let round = 0; round < 20; round++) {
    for (const format of ['text', 'openmetrics', 'idle']) {
      const delay = monitorEventLoopDelay({ resolution: 1 })
      delay.enable()
      await pause(5)
      delay.reset()
      const started = performance.now()
      const { text } = format === 'idle' ? { text: '' } : await metrics.scrape(format)
      const took = performance.now() - started
      await pause(20)
      delay.disable()
      delays[format].push({ stall: delay.max / 1e6, took, text })
    }
  }
  const [{ text }] = delays.text
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length
  console.log(
    `\na scrape of ${samples} samples (${(text.length / 1024).toFixed(0)} KiB), 20 rounds; idle: the same without a scrape`,
  )
  console.table(
    Object.fromEntries(
      Object.entries(delays).map(([format, list]) => [
        format,
        {
          'whole scrape, median ms': +median(list.map((one) => one.took)).toFixed(1),
          'longest stall of a round, median ms': +median(list.map((one) => one.stall)).toFixed(1),
          'longest stall of all, ms': +Math.max(...list.map((one) => one.stall)).toFixed(1),
        },
      ]),
    ),
  )
  const scrapes = [...delays.text, ...delays.openmetrics].map((one) => one.stall)
  const middle = median(scrapes)
  console.log(
    `goal: a scrape stalls the event loop < 20 ms: ${middle < 20 ? 'met' : 'NOT MET'} in the median round (${middle.toFixed(1)} ms); ` +
      `${scrapes.filter((one) => one >= 20).length} of ${scrapes.length} rounds were longer, waiting for a core included`,
  )
}

const NONE = { propose: 0, follow: 0, people: 0 }
const QUEUE = { underWay: NONE, waiting: NONE, refused: NONE }

/** Creates metrics with the largest possible number of series, with names of realistic length. */
function fullMetrics() {
  const metrics = createMetrics({
    version: '0.0.0',
    knowsTool: () => true,
    now: () => Date.now(),
    durability: () => 'fsync',
    storeHealth: () => Promise.resolve({ roomBytes: 1e9 }),
    traffic: () => ({ requests: 0, connections: 0, polls: 0, streams: 0, ...QUEUE }),
    checkpointLagMs: () => 0,
    isReady: () => Promise.resolve(true),
    census: () =>
      Promise.resolve({
        pending: new Map(),
        groups: new Map(),
        deliveries: 0,
        paused: new Map(),
        frozen: new Map(),
      }),
    onFull: () => undefined,
  })
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  const record = { tenant: 't', at: '2026-01-01T00:00:00.000Z', actor: { kind: 'agent', id: 'a' } }
  for (let i = 0; i < 2_000; i++) {
    const rules = [`payments-transfer-above-the-limit-of-the-team-${i}`]
    const details = { risk: 'low', rules, unknown: rules, traceparent }
    const tool = `payments.ledger.transfer-${i}`
    metrics.observe({ kind: 'evidence', record: { ...record, type: 'decision.allowed', tool, details } })
    const route = `/api/review/threads/:thread_id/part-${i}`
    metrics.observeHttp({ method: 'POST', route, status: 200, seconds: 0.01, traceparent })
  }
  return metrics
}
