/*
 * Webhooks. The first part measures the number and the delay of deliveries to a receiver that answers immediately. It
 * runs alone, then beside a receiver that hangs (W035 of test/data/hostile/webhook-receiver-behaviours.json).
 *
 * The second part measures how much webhooks slow decisions down. One gateway has two tenants, one of which has both
 * destinations. Calls arrive at a fixed rate, in slices of a second for each tenant in turn. A slow disk and busy
 * neighbours therefore affect both tenants. Read the ratios.
 *
 * npm run build && node bench/webhooks.mjs [--rate 200] [--seconds 8] [--rounds 3] [--slices 120] [--cores 0]
 * (Linux; openssl)
 *
 * With `--cores 0-1` the gateway also uses the core of the receivers and the callers.
 */
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import {
  plainPolicies,
  call,
  cpuOf,
  endWithUs,
  lineOf,
  median,
  pinThisProcess,
  startGateway,
} from './gateway.mjs'

const { values } = parseArgs({
  options: {
    rate: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '3' },
    slices: { type: 'string', default: '120' },
    cores: { type: 'string', default: '0' },
  },
})
const [rate, seconds, rounds, slices] = [values.rate, values.seconds, values.rounds, values.slices].map(
  Number,
)
const SETTLE_MS = 2_000
const SLICE_S = 1
/** The share of a slice that is not counted, because deliveries of the previous slice still continue. */
const UNCOUNTED = 0.3

const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-webhooks-'))
const files = ['-keyout', join(directory, 'key.pem'), '-out', join(directory, 'cert.pem')]
const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
const names = ['-subj', '/CN=receiver', '-addext', 'subjectAltName=IP:127.0.0.1']
execFileSync('openssl', ['req', '-x509', '-days', '2', ...key, ...files, ...names], { stdio: 'ignore' })

const cores = availableParallelism()
// pinned before any child starts, because receivers represent other machines and must not use the gateway's core
pinThisProcess()
const receiver = fork(fileURLToPath(new URL('./webhook-receiver.mjs', import.meta.url)), [directory], {
  stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
})
endWithUs(() => receiver)
const ports = JSON.parse(await lineOf(receiver, (line) => line.startsWith('{')))
process.env.NODE_EXTRA_CA_CERTS = join(directory, 'cert.pem')
const allow = Object.values(ports)
  .map((port) => `127.0.0.1/32:${port}`)
  .join(',')
const policies = join(directory, 'policies')
cpSync(plainPolicies(), policies, { recursive: true })
const QUIET = `
  quiet:
    agents:
      quiet-agent: { owners: [erin], tools: ['*'], rate: 9999999/s }
    reviewers:
      erin: { name: Erin, email: erin@quiet.example, groups: [on-call, team-leads, security, security-leads, fraud-desk] }
      finn: { name: Finn, email: finn@quiet.example, groups: [on-call, team-leads, security, security-leads, fraud-desk] }
      gwen: { name: Gwen, email: gwen@quiet.example, groups: [security-leads] }
`
appendFileSync(join(policies, 'directory.yaml'), QUIET)
const gateway = await startGateway({ policies, cores: values.cores, settings: ['--webhooks-allow', allow] })
const agent = await gateway.key('agent', 'demo-agent')
const quiet = (await gateway.admin('POST', '/agents/quiet/quiet-agent/key')).api_key
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

/** Sends calls at the fixed rate. Returns the duration of each, ms, in the order in which they were due. */
async function decide(name, { key = agent, lasting = seconds } = {}) {
  const calls = []
  const start = performance.now()
  for (let i = 0; i < rate * lasting; i++) {
    const due = start + (i * 1_000) / rate
    const wait = due - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    const asked = performance.now()
    const path = `/api/agent/tasks/${name}-${i}/requests`
    const answered = call(gateway.url, { method: 'POST', path, key, body: CALL })
    calls.push(answered.then(() => performance.now() - asked))
  }
  return Promise.all(calls)
}

const ascending = (a, b) => a - b
const at = (times, share) => times[Math.min(times.length - 1, Math.floor(times.length * share))]
const ask = async () => {
  receiver.send('count')
  const [answer] = await once(receiver, 'message')
  return answer
}

async function listen(urls) {
  const made = []
  for (const url of urls) made.push((await (await admin('POST', '', { tenant: 'acme', url })).json()).id)
  return made
}

/** Measures deliveries to the fast receiver, one of the destinations `urls`. */
async function deliver(name, urls) {
  const made = await listen(urls)
  await decide(`${name}-warm`)
  await ask()
  const cpu = cpuOf(gateway.pid)
  const started = performance.now()
  await decide(name)
  const load = (cpuOf(gateway.pid) - cpu) / 1_000 / (performance.now() - started)
  const { received, late } = await ask()
  for (const id of made) await admin('DELETE', `/${id}`)
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  return { perSecond: received / seconds, late: at(late.sort(ascending), 0.99), load }
}

/** Decides calls in slices, alternately for the tenant without destinations and for the tenant with `urls`. */
async function compare(urls) {
  await listen(urls)
  const tenants = { quiet: { key: quiet, slices: [] }, heard: { key: agent, slices: [] } }
  for (let i = -4; i < slices; i++) {
    const name = Math.abs(i) % 2 === 0 ? 'quiet' : 'heard'
    const times = await decide(`slice-${i}`, { key: tenants[name].key, lasting: SLICE_S })
    if (i >= 0) tenants[name].slices.push(times.slice(rate * SLICE_S * UNCOUNTED))
  }
  return { quiet: tenants.quiet.slices, heard: tenants.heard.slices }
}

/** Returns the 5 % and 95 % quantiles of the ratio over resampled slices, with a fixed sequence of draws. */
function spread({ quiet, heard }, share) {
  let state = 1
  const draw = (of) => of.map(() => of[(state = (state * 48_271) % 2_147_483_647) % of.length])
  const again = Array.from({ length: 400 }, () => ratioOf({ quiet: draw(quiet), heard: draw(heard) }, share))
  again.sort(ascending)
  return [at(again, 0.05), at(again, 0.95)]
}

const pooled = (of, share) => at(of.flat().sort(ascending), share)
const ratioOf = ({ quiet, heard }, share) => pooled(heard, share) / pooled(quiet, share)

const fast = `https://127.0.0.1:${ports.fast}/`
const hanging = `https://127.0.0.1:${ports.hanging}/`
const rows = { alone: [], beside: [] }
console.log(
  `Node ${process.version}, ${cores} cores, ${rate} decisions/s, ${rounds} rounds of ${seconds} s, ${slices} slices, the gateway on core ${values.cores}`,
)
await deliver('first', [fast])
for (let i = 0; i < rounds; i++) {
  rows.alone.push(await deliver(`alone-${i}`, [fast]))
  rows.beside.push(await deliver(`beside-${i}`, [fast, hanging]))
}
const of = (name, column) => median(rows[name].map((row) => row[column]))
console.log(
  `delivered ${of('beside', 'perSecond').toFixed(0)}/s while another destination hangs (goal 200), p99 ${of('beside', 'late')} ms after the decision, ${of('beside', 'load').toFixed(2)} of a core`,
)
const held = rows.beside.map((row, i) => row.late / rows.alone[i].late)
console.log(
  `p99 of deliveries while another destination hangs: ${median(held).toFixed(2)} x alone (goal < 2), rounds ${held.map((one) => one.toFixed(2)).join(' ')}`,
)
const compared = await compare([fast, hanging])
for (const [name, share] of Object.entries({ p50: 0.5, p90: 0.9, p99: 0.99 })) {
  const [low, high] = spread(compared, share).map((one) => one.toFixed(2))
  const [without, with_] = [compared.quiet, compared.heard].map((times) => pooled(times, share).toFixed(2))
  console.log(
    `decision ${name} with webhooks: ${ratioOf(compared, share).toFixed(2)} x without (${low} to ${high}): ${without} and ${with_} ms${name === 'p99' ? ' (goal < 1.10)' : ''}`,
  )
}
await gateway.stop()
receiver.kill()
rmSync(directory, { recursive: true, force: true })
process.exit(0)
