/*
 * The cost of `proof: always`: an allowed call of a tool that needs no proof, beside the same call of a tool that does.
 * The first is one request. The second is three: evaluate, poll and redeem. Both gateways run on the same core, and
 * serve their calls in alternate slices.
 *
 * npm run build && node bench/proof.mjs [rounds] [calls per slice]
 */
import { ALLOWED, PATH } from './calls.mjs'
import { call, cpuOf, median, pinThisProcess, plainPolicies, startGateway } from './gateway.mjs'

const [rounds = 15, calls = 400] = process.argv.slice(2).map(Number)
const CALLERS = 32

pinThisProcess()
const [plain, proving] = [
  await startGateway({ pinned: true }),
  await startGateway({ pinned: true, policies: plainPolicies({ proofs: true }) }),
]
const keys = new Map()
for (const gateway of [plain, proving]) keys.set(gateway, await gateway.key('agent', 'demo-agent'))

async function allowed({ url }, key) {
  const { status } = await call(url, { method: 'POST', path: PATH, key, body: ALLOWED })
  if (status !== 'allow') throw new Error(`answered ${status}`)
}

async function proven({ url }, key) {
  const { thread_id } = await call(url, { method: 'POST', path: PATH, key, body: ALLOWED })
  const path = `/api/agent/decisions?thread_id=${thread_id}`
  const { approval_token: signature } = await call(url, { method: 'GET', path, key })
  const { payload: request_payload, action_hash } = ALLOWED
  const body = { task_id: 'task-1', signature, request_payload, thread_id, action_hash }
  const { valid } = await call(url, { method: 'POST', path: '/api/agent/approvals/validate', key, body })
  if (valid !== true) throw new Error('the proof was refused')
}

/** Processor time of the gateway for each call, in us. */
async function slice(gateway, run) {
  const key = keys.get(gateway)
  const before = cpuOf(gateway.pid)
  let left = calls
  const caller = async () => {
    while (left-- > 0) await run(gateway, key)
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return (cpuOf(gateway.pid) - before) / calls
}

await slice(plain, allowed)
await slice(proving, proven)
const pairs = []
for (let round = 0; round < rounds; round++)
  pairs.push([await slice(plain, allowed), await slice(proving, proven)])
const of = (which) => Math.round(median(pairs.map((pair) => pair[which])))
const ratio = median(pairs.map(([without, withProof]) => withProof / without)).toFixed(1)
console.log(`\nNode ${process.version}: medians of ${rounds} pairs of slices of ${calls} calls`)
console.table({
  'allowed at once': { requests: 1, 'processor time of the gateway, us': of(0) },
  'allowed with a proof': { requests: 3, 'processor time of the gateway, us': of(1), ratio: `${ratio} x` },
})
for (const gateway of [plain, proving]) await gateway.stop()
