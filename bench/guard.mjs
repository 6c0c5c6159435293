/*
 * `guard` of the SDK around an allowed call, beside one submit of the same call: alternate calls, one after another.
 * `guard` reports the run in the background; the next call begins after the report. The goal is 1.3 at p50.
 *
 * npm run build && node bench/guard.mjs [rounds]
 */
import { randomBytes } from 'node:crypto'
import { createGate } from '@countersign/sdk'
import { ALLOWED } from './calls.mjs'
import { startGateway } from './gateway.mjs'

const WARM_UP = 100
const rounds = Number(process.argv[2] ?? 300)
const gateway = await startGateway()
const gate = createGate({ url: gateway.url, key: await gateway.key('agent', 'demo-agent'), taskId: 'bench' })
const { tool_name, payload } = ALLOWED

const submit = () => {
  const action_hash = randomBytes(32).toString('hex')
  return gate.client.submit('bench', { tool_name, payload, action_hash }, { idempotencyKey: action_hash })
}
const guard = () => gate.guard(tool_name, payload, () => 'ran')

async function timeOf(call) {
  const start = performance.now()
  await call()
  const ms = performance.now() - start
  await gate.settled()
  return ms
}

const times = { submit: [], guard: [] }
for (let i = 0; i < WARM_UP + rounds; i++)
  for (const [name, call] of Object.entries({ submit, guard })) {
    const ms = await timeOf(call)
    if (i >= WARM_UP) times[name].push(ms)
  }
const p50 = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]
const [one, whole] = [p50(times.submit), p50(times.guard)]
console.log(
  `p50 of ${rounds}: guard ${whole.toFixed(2)} ms, submit ${one.toFixed(2)} ms: ${(whole / one).toFixed(2)} times (goal: 1.3)`,
)
await gateway.stop()
