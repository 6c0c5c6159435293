/*
 * The gateway over HTTP, with durability, compared to a bare Fastify route with the same body schema. Both run on the
 * same core with the same number of keep-alive connections, in alternate rounds. Read the ratios: absolute numbers
 * depend on the machine.
 *
 * npm run build && node bench/http.mjs [seconds per row] [rounds] [connections]
 */
import { call, cpuOf, lineOf, median, pinThisProcess, startGateway, startNode } from './gateway.mjs'
import { load, requestBytes } from './load.mjs'
import { fileURLToPath } from 'node:url'

const [seconds = 2, rounds = 5, connections = 64] = process.argv.slice(2).map(Number)
const PROOFS_PER_ROUND = 2_000

const transfer = (amount_cents) => ({
  tool_name: 'ledger.transfer',
  workflow_name: 'monthly-closing',
  task_label: 'move travel money',
  payload: { from: 'acct_ops', to: 'acct_travel', amount_cents, currency: 'eur', memo: 'train tickets' },
  action_hash: '4f1c0d5a9e8b7a6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c',
})
const ALLOWED = transfer(2_500)
const HELD = transfer(25_000)
const PATH = '/api/agent/tasks/task-1/requests'

pinThisProcess()
const gateway = await startGateway({ pinned: true })
const bare = startNode([fileURLToPath(new URL('./bare-server.mjs', import.meta.url))], { pinned: true })
const { listening: bareUrl } = JSON.parse(await lineOf(bare, (line) => line.includes('listening')))
const agent = await gateway.key('agent', 'demo-agent')
const reviewer = await gateway.key('reviewer', 'alice')

const same = (url, request) => {
  const bytes = requestBytes(url, request)
  return { url, next: () => bytes }
}
const pollOf = async () => {
  const { thread_id } = await call(gateway.url, { method: 'POST', path: PATH, key: agent, body: HELD })
  return { method: 'GET', path: `/api/agent/decisions?thread_id=${thread_id}`, key: agent }
}
const rows = {
  bare: () => same(bareUrl, { path: '/tasks/task-1/requests', body: ALLOWED }),
  allow: () => same(gateway.url, { path: PATH, key: agent, body: ALLOWED }),
  review: () => same(gateway.url, { path: PATH, key: agent, body: HELD }),
  'poll (pending)': async () => same(gateway.url, await pollOf()),
  'validate (redeems)': async () => ({ url: gateway.url, next: supply(await proofs(PROOFS_PER_ROUND)) }),
}

/** Opens and approves threads, and collects their proofs. Returns requests that redeem the proofs. */
async function proofs(count) {
  const answers = []
  const collect = { onBody: (body) => answers.push(JSON.parse(body)), connections: 32 }
  const all = async (requests, rest = {}) => {
    answers.length = 0
    await load(gateway.url, {
      next: supply(requests.map((one) => requestBytes(gateway.url, one))),
      ...collect,
      ...rest,
    })
    return [...answers]
  }
  const threads = await all(Array.from({ length: count }, () => ({ path: PATH, key: agent, body: HELD })))
  const vote = (thread_id) => ({
    path: `/api/review/threads/${thread_id}/votes`,
    key: reviewer,
    body: { decision: 'approve', revision: 1, comment: 'fine' },
  })
  await all(threads.map(({ thread_id }) => vote(thread_id)))
  const poll = (thread_id) => ({
    method: 'GET',
    path: `/api/agent/decisions?thread_id=${thread_id}`,
    key: agent,
  })
  const approved = await all(threads.map(({ thread_id }) => poll(thread_id)))
  return approved.map(({ approval_token: signature, thread_id, action_hash }) =>
    requestBytes(gateway.url, {
      path: '/api/agent/approvals/validate',
      key: agent,
      body: { task_id: 'task-1', signature, thread_id, action_hash, request_payload: HELD.payload },
    }),
  )
}

function supply(list) {
  let i = 0
  return () => list[i++]
}

const results = Object.fromEntries(Object.keys(rows).map((name) => [name, []]))
for (let round = 0; round <= rounds; round++) {
  for (const [name, prepare] of Object.entries(rows)) {
    const { url, next } = await prepare()
    const pid = name === 'bare' ? bare.pid : gateway.pid
    const cpu = cpuOf(pid)
    const result = await load(url, { next, connections, seconds: round === 0 ? 1 : seconds })
    if (Object.keys(result.unexpected).length > 0) console.log(name, 'unexpected answers:', result.unexpected)
    if (round > 0) results[name].push({ ...result, cpu: (cpuOf(pid) - cpu) / result.count })
  }
}

const middle = (name, of) => median(results[name].map(of))
const ratio = (name, of) => median(results[name].map((one, i) => of(one) / of(results.bare[i])))
console.log(
  `\nNode ${process.version}, ${connections} connections, ${rounds} rounds of ${seconds} s, medians; x bare: median of the rounds' ratios`,
)
console.table(
  Object.fromEntries(
    Object.keys(rows).map((name) => [
      name,
      {
        'answers/s': Math.round(middle(name, (one) => one.perSecond)),
        'x bare': +ratio(name, (one) => one.perSecond).toFixed(2),
        'p50 ms': +middle(name, (one) => one.p50).toFixed(2),
        'p99 ms': +middle(name, (one) => one.p99).toFixed(2),
        'p99 x bare': +ratio(name, (one) => one.p99).toFixed(2),
        'cpu x bare': +ratio(name, (one) => one.cpu).toFixed(1),
        'server cpu us': Math.round(middle(name, (one) => one.cpu)),
      },
    ]),
  ),
)
console.log(
  `goals: allow >= 0.5 x bare: ${ratio('allow', (one) => one.perSecond) >= 0.5 ? 'met' : 'NOT MET'}; ` +
    `p99 <= 4 x bare: ${ratio('allow', (one) => one.p99) <= 4 ? 'met' : 'NOT MET'}`,
)
bare.kill()
await gateway.stop()
