/*
 * Agents with held calls: many polls held by `Prefer: wait`. The benchmark measures their cost while idle. It also
 * measures an allowed call during these polls, and the time from a vote to the agent's answer.
 *
 * npm run build && node bench/waits.mjs [polls] [embedded|redis] (Linux)
 */
import { connect } from 'node:net'
import { call, cpuOf, memoryOf, pinThisProcess, startGateway } from './gateway.mjs'
import { load, requestBytes } from './load.mjs'
import { startRedis } from './redis-server.mjs'

const most = Number(process.argv[2] ?? 5_000)
// the gateway holds no more polls of one agent
if (most > 7_500) throw new Error('at most 7,500 polls of one agent are held')
const onRedis = process.argv[3] === 'redis'
const SECONDS = 10
const VOTES = 100
const AT_ONCE = 100

const transfer = (amount_cents) => ({
  tool_name: 'ledger.transfer',
  payload: { from: 'acct_ops', to: 'acct_travel', amount_cents, currency: 'eur', memo: 'train tickets' },
})
const rounded = (value, digits = 1) => Number(value.toFixed(digits))
const quantile = (values, share) => values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

pinThisProcess()
const redis = onRedis ? await startRedis() : undefined
const gateway = await startGateway({ pinned: true, ...(redis && { store: redis.url }) })
const agent = await gateway.key('agent', 'demo-agent')
const reviewer = await gateway.key('reviewer', 'alice')
const allowed = requestBytes(gateway.url, {
  path: '/api/agent/tasks/beside/requests',
  key: agent,
  body: transfer(2_500),
})

const threads = []
let left = most
await load(gateway.url, {
  next: () =>
    left-- > 0
      ? requestBytes(gateway.url, {
          path: `/api/agent/tasks/task-${left}/requests`,
          key: agent,
          body: transfer(25_000),
        })
      : undefined,
  onBody: (body) => threads.push(JSON.parse(body).thread_id),
})

const rows = { 'no poll held': await measure() }
const polls = await holdAll()
await pause(1_000)
rows[`${most} polls held`] = await measure()
const waited = []
for (const poll of polls.slice(0, VOTES)) waited.push(await timeOfVote(poll))
rows[`${most} polls held`]['vote -> answer p50, ms'] = rounded(quantile(waited, 0.5))
rows[`${most} polls held`]['vote -> answer p99, ms'] = rounded(quantile(waited, 0.99))
console.log(`Node ${process.version}, ${onRedis ? 'Redis' : 'embedded store'}`)
console.table(rows)
for (const { socket } of polls) socket.destroy()
await gateway.stop()
await redis?.stop()

/** Measures the polls at rest, and while one caller repeats an allowed call. */
async function measure() {
  const [before, redisBefore] = [cpuOf(gateway.pid), redis && cpuOf(redis.pid())]
  await pause(SECONDS * 1_000)
  const share = (now, then) => rounded((now - then) / 1e6 / SECONDS, 3)
  const [own, its] = [share(cpuOf(gateway.pid), before), redis && share(cpuOf(redis.pid()), redisBefore)]
  const beside = await load(gateway.url, { next: () => allowed, seconds: 3, connections: 8 })
  return {
    'at rest, cores': own,
    ...(redis && { 'of Redis': its }),
    'allowed/s, 8 connections': rounded(beside.perSecond, 0),
    'p50, ms': rounded(beside.p50, 2),
    'p99, ms': rounded(beside.p99, 2),
    'resident, MB': rounded(memoryOf(gateway.pid).rss / 1024, 0),
  }
}

/** Opens all held polls in batches that do not overload a gateway. */
async function holdAll() {
  const all = []
  while (all.length < most) {
    const portion = threads.slice(all.length, all.length + AT_ONCE)
    all.push(...portion.map((thread) => holdPoll(thread)))
    while ((await pollsHeld()) < all.length) await pause(20)
  }
  return all
}

/** Sends a held poll on a separate connection. `answered` contains the poll's answer and its time. */
function holdPoll(thread) {
  const { hostname, port } = new URL(gateway.url)
  const socket = connect(Number(port), hostname)
  const answered = new Promise((resolve, reject) => {
    socket.on('data', (chunk) => resolve({ at: performance.now(), text: chunk.latin1Slice() }))
    socket.on('error', reject)
  })
  answered.catch(() => undefined)
  const path = `/api/agent/decisions?thread_id=${thread}`
  socket.write(requestBytes(gateway.url, { method: 'GET', path, key: agent, headers: { prefer: 'wait=55' } }))
  return { thread, socket, answered }
}

async function pollsHeld() {
  const text = await (await fetch(gateway.metrics)).text()
  return Number(/^countersign_polls_held (\d+)/m.exec(text)?.[1])
}

async function timeOfVote({ thread, answered }) {
  const sent = performance.now()
  const path = `/api/review/threads/${thread}/votes`
  await call(gateway.url, { method: 'POST', path, key: reviewer, body: { decision: 'approve', revision: 1 } })
  const { at, text } = await answered
  if (!text.includes('"approval_token"')) throw new Error(`no proof: ${text}`)
  return at - sent
}
