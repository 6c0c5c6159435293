/*
 * Many waiting threads: anonymous memory of the gateway (not the store's mapped pages, which the kernel gives back when it needs them) and
 * the time of a poll at 1,000 and at 100,000. The growth is counted from a gateway that has had as many calls already that leave no
 * thread: what V8 and malloc keep after any load is not the memory of threads. It is printed too.
 *
 *   npm run build && node bench/memory.mjs [threads]     (Linux)
 */
import { call, cpuOf, median, memoryOf, pinThisProcess, startGateway } from './gateway.mjs'
import { load, requestBytes } from './load.mjs'

const [most = 100_000] = process.argv.slice(2).map(Number)
const FEW = 1_000
const ROUNDS = 5
const POLLS = 4_000
const HELD = {
  tool_name: 'ledger.transfer',
  payload: {
    from: 'acct_ops',
    to: 'acct_travel',
    amount_cents: 25_000,
    currency: 'eur',
    memo: 'train tickets',
  },
}

pinThisProcess()
const gateway = await startGateway({ pinned: true })
const key = await gateway.key('agent', 'demo-agent')
const ids = []
async function fillTo(count) {
  let left = count - ids.length
  const next = () =>
    left-- > 0
      ? requestBytes(gateway.url, { path: `/api/agent/tasks/task-${left}/requests`, key, body: HELD })
      : undefined
  await load(gateway.url, { next, onBody: (body) => ids.push(JSON.parse(body).thread_id) })
}

/** Polls of threads from everywhere, one connection, so that the time is that of the poll and not of a queue. */
async function polls() {
  const rounds = []
  for (let round = 0; round <= ROUNDS; round++) {
    let left = POLLS
    const next = () => {
      const thread_id = ids[Math.floor(Math.random() * ids.length)]
      return left-- > 0
        ? requestBytes(gateway.url, {
            method: 'GET',
            path: `/api/agent/decisions?thread_id=${thread_id}`,
            key,
          })
        : undefined
    }
    const cpu = cpuOf(gateway.pid)
    const { p50, count } = await load(gateway.url, { next, connections: 1 })
    if (round > 0) rounds.push({ p50, cpu: (cpuOf(gateway.pid) - cpu) / count })
  }
  return { p50: median(rounds.map((one) => one.p50)), cpu: median(rounds.map((one) => one.cpu)) }
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 3_000))
const cold = memoryOf(gateway.pid)
let left = most
const allowed = requestBytes(gateway.url, {
  path: '/api/agent/tasks/task/requests',
  key,
  body: { ...HELD, payload: { ...HELD.payload, amount_cents: 2_500 } },
})
await load(gateway.url, { next: () => (left-- > 0 ? allowed : undefined) })
await fillTo(FEW)
const few = await polls()
await settle()
const before = memoryOf(gateway.pid)
await fillTo(most)
await settle()
const many = await polls()
await settle()
await call(gateway.url, { path: '/readyz' })
const after = memoryOf(gateway.pid)
const megabytes = (kilobytes) => +(kilobytes / 1024).toFixed(1)
const grown = megabytes(after.anonymous - before.anonymous)
console.log(`anonymous memory after the start: ${megabytes(cold.anonymous)} MB`)
console.table({
  [`at ${FEW} threads`]: {
    'anonymous, MB': megabytes(before.anonymous),
    'resident, MB': megabytes(before.rss),
    'poll p50, ms': +few.p50.toFixed(3),
    'poll cpu, us': Math.round(few.cpu),
  },
  [`at ${ids.length} threads`]: {
    'anonymous, MB': megabytes(after.anonymous),
    'resident, MB': megabytes(after.rss),
    'poll p50, ms': +many.p50.toFixed(3),
    'poll cpu, us': Math.round(many.cpu),
  },
})
console.log(`anonymous memory grew by ${grown} MB (goal < 50): ${grown < 50 ? 'met' : 'NOT MET'}`)
console.log(
  `polls: ${(many.p50 / few.p50).toFixed(2)} x (goal <= 1.3): ${many.p50 / few.p50 <= 1.3 ? 'met' : 'NOT MET'}`,
)
await gateway.stop()
