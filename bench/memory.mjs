/*
 * Many waiting threads: the gateway's anonymous memory, and the time of a poll, at 1,000 and at 100,000 threads.
 * Anonymous memory excludes the store's mapped pages, which the kernel can reclaim. The benchmark reads memory before
 * and after a full garbage collection. The baseline is a gateway after the same number of calls without a thread.
 *
 * npm run build && node bench/memory.mjs [threads] (Linux)
 */
import { call, cpuOf, median, memoryOf, pinThisProcess, startGateway } from './gateway.mjs'
import { load, requestBytes } from './load.mjs'
import { fileURLToPath } from 'node:url'

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
const collecting = fileURLToPath(new URL('collect-when-told.mjs', import.meta.url))
const gateway = await startGateway({ pinned: true, flags: ['--expose-gc', '--import', collecting] })
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

/** Polls random threads over one connection, so that no queue adds to the time. */
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
/** Returns memory before and after a full collection. */
async function memory() {
  await settle()
  const asItIs = memoryOf(gateway.pid)
  process.kill(gateway.pid, 'SIGUSR2')
  await settle()
  return { asItIs, inUse: memoryOf(gateway.pid) }
}
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
const before = await memory()
await fillTo(most)
await settle()
const many = await polls()
const after = await memory()
await call(gateway.url, { path: '/readyz' })
const megabytes = (kilobytes) => +(kilobytes / 1024).toFixed(1)
const growth = (kind) => megabytes(after[kind].anonymous - before[kind].anonymous)
const columns = ({ asItIs, inUse }) => ({
  'anonymous in use, MB': megabytes(inUse.anonymous),
  'as it is, MB': megabytes(asItIs.anonymous),
  'resident, MB': megabytes(asItIs.rss),
})
const grown = growth('inUse')
console.log(`anonymous memory after the start: ${megabytes(cold.anonymous)} MB`)
console.table({
  [`at ${FEW} threads`]: {
    ...columns(before),
    'poll p50, ms': +few.p50.toFixed(3),
    'poll cpu, us': Math.round(few.cpu),
  },
  [`at ${ids.length} threads`]: {
    ...columns(after),
    'poll p50, ms': +many.p50.toFixed(3),
    'poll cpu, us': Math.round(many.cpu),
  },
})
console.log(
  `anonymous memory in use grew by ${grown} MB (goal < 50): ${grown < 50 ? 'met' : 'NOT MET'}; with what V8 had not collected yet by ${growth('asItIs')} MB`,
)
console.log(
  `polls: ${(many.p50 / few.p50).toFixed(2)} x (goal <= 1.3): ${many.p50 / few.p50 <= 1.3 ? 'met' : 'NOT MET'}`,
)
await gateway.stop()
