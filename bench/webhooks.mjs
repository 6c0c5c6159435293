/*
 * Webhooks: how many deliveries one instance makes to a receiver that answers at once while another one hangs, how long after the decision they arrive,
 * and what that costs the decision path; and whether the one that hangs makes the other late (W035 of test/data/hostile/webhook-receiver-behaviours.json). Decisions come at a fixed rate, whatever becomes of them; rounds with and without webhooks take turns. Read the ratios.
 *
 *   npm run build && node bench/webhooks.mjs [--rate 200] [--seconds 10] [--rounds 5]      (Linux; openssl)
 */
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { call, cpuOf, endWithUs, lineOf, median, pinThisProcess, startGateway } from './gateway.mjs'

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '5' },
  },
})
const [rate, seconds, rounds] = [values.rate, values.seconds, values.rounds].map(Number)
const SETTLE_MS = 2_000

const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-webhooks-'))
const files = ['-keyout', join(directory, 'key.pem'), '-out', join(directory, 'cert.pem')]
const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
const names = ['-subj', '/CN=receiver', '-addext', 'subjectAltName=IP:127.0.0.1']
execFileSync('openssl', ['req', '-x509', '-days', '2', ...key, ...files, ...names], { stdio: 'ignore' })

const receiver = fork(fileURLToPath(new URL('./webhook-receiver.mjs', import.meta.url)), [directory], {
  stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
})
endWithUs(() => receiver)
const ports = JSON.parse(await lineOf(receiver, (line) => line.startsWith('{')))
process.env.NODE_EXTRA_CA_CERTS = join(directory, 'cert.pem')
pinThisProcess()
const allow = Object.values(ports)
  .map((port) => `127.0.0.1/32:${port}`)
  .join(',')
const gateway = await startGateway({ pinned: true, settings: ['--webhooks-allow', allow] })
const agent = await gateway.key('agent', 'demo-agent')
const admin = (method, path, body) =>
  fetch(`${gateway.url}/api/admin/webhooks${path}`, {
    method,
    headers: {
      authorization: 'Bearer an-admin-key-for-benchmarks-on-loopback-only',
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })

const CALL = {
  tool_name: 'ledger.transfer',
  payload: { from: 'acct_ops', to: 'acct_travel', amount_cents: 2_500, currency: 'eur', memo: 'tickets' },
}

/** Calls at the rate, each at its time; ms of each. */
async function decide(name) {
  const times = []
  const open = []
  const start = performance.now()
  for (let i = 0; i < rate * seconds; i++) {
    const due = start + (i * 1_000) / rate
    const wait = due - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    const asked = performance.now()
    const path = `/api/agent/tasks/${name}-${i}/requests`
    open.push(
      call(gateway.url, { method: 'POST', path, key: agent, body: CALL }).then(() =>
        times.push(performance.now() - asked),
      ),
    )
  }
  await Promise.all(open)
  return times.sort((a, b) => a - b)
}

const at = (times, share) => times[Math.min(times.length - 1, Math.floor(times.length * share))]
const ask = async () => {
  receiver.send('count')
  const [answer] = await once(receiver, 'message')
  return answer
}

async function round(name, urls) {
  const made = []
  for (const url of urls) made.push((await (await admin('POST', '', { tenant: 'acme', url })).json()).id)
  await decide(`${name}-warm`)
  await ask()
  const cpu = cpuOf(gateway.pid)
  const started = performance.now()
  const times = await decide(name)
  const load = (cpuOf(gateway.pid) - cpu) / 1_000 / (performance.now() - started)
  const { received, late } = await ask()
  for (const id of made) await admin('DELETE', `/${id}`)
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  return {
    p50: at(times, 0.5),
    p99: at(times, 0.99),
    perSecond: received / seconds,
    late: at(
      late.sort((a, b) => a - b),
      0.99,
    ),
    load,
  }
}

const fast = `https://127.0.0.1:${ports.fast}/`
const hanging = `https://127.0.0.1:${ports.hanging}/`
const rows = { none: [], alone: [], webhooks: [] }
console.log(
  `Node ${process.version}, ${availableParallelism()} cores, ${rate} decisions/s, ${rounds} rounds of ${seconds} s`,
)
await round('first', [fast])
for (let i = 0; i < rounds; i++) {
  rows.none.push(await round(`none-${i}`, []))
  rows.alone.push(await round(`alone-${i}`, [fast]))
  rows.webhooks.push(await round(`hooks-${i}`, [fast, hanging]))
}
const of = (name, column) => median(rows[name].map((row) => row[column]))
for (const name of Object.keys(rows))
  console.log(
    `${name.padEnd(9)} decision p50 ${of(name, 'p50').toFixed(2)} ms, p99 ${of(name, 'p99').toFixed(2)} ms; ${of(name, 'load').toFixed(2)} of a core`,
  )
console.log(
  `delivered ${of('webhooks', 'perSecond').toFixed(0)}/s while another destination hangs (goal 200), p99 ${of('webhooks', 'late')} ms after the decision`,
)
const held = rows.webhooks.map((row, i) => row.late / rows.alone[i].late)
console.log(
  `p99 of deliveries while another destination hangs: ${median(held).toFixed(2)} x alone (goal < 2), rounds ${held.map((one) => one.toFixed(2)).join(' ')}`,
)
const ratios = rows.webhooks.map((row, i) => row.p99 / rows.none[i].p99)
console.log(
  `decision p99 with webhooks: ${median(ratios).toFixed(2)} x without (goal < 1.10), rounds ${ratios.map((one) => one.toFixed(2)).join(' ')}`,
)
await gateway.stop()
receiver.kill()
rmSync(directory, { recursive: true, force: true })
process.exit(0)
