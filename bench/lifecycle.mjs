/*
 * A quarter of a year in minutes: a gateway with a moved clock, so that retention is at work. 90 % of the calls are
 * allowed, 8 % are held, approved, collected and redeemed, and 2 % are rejected. Each row shows the store after a
 * window of ten days. Threads and disclosures end, so their bytes stay the same. The log grows, and one entry for each
 * task and tool, because a rule may read the whole history of a task.
 *
 * npm run build && node bench/lifecycle.mjs [calls] [embedded|redis]
 */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import pino from 'pino'
import { startApp } from '../dist/app.js'
import { poll } from '../dist/gateway/agent/poll.js'
import { redeem } from '../dist/gateway/agent/redeem.js'
import { submit } from '../dist/gateway/agent/submit.js'
import { identify } from '../dist/gateway/auth/identify.js'
import { issueKey } from '../dist/gateway/auth/keys.js'
import { sizeOf } from '../dist/gateway/integrity/size.js'
import { runDue } from '../dist/gateway/jobs/scheduler.js'
import { vote } from '../dist/gateway/review/vote.js'
import { loadConfig } from '../dist/settings/config.js'
import { openEmbeddedArchive } from '../dist/store/embedded/archive.js'
import { openEmbeddedStore } from '../dist/store/embedded/store.js'
import { parseRedisAddress } from '../dist/store/redis/address.js'
import { openRedisArchive } from '../dist/store/redis/archive.js'
import { openRedisStore } from '../dist/store/redis/store.js'
import { plainPolicies } from './gateway.mjs'
import { startRedis } from './redis-server.mjs'

const [given = '60000', kind = 'embedded'] = process.argv.slice(2)
const calls = Number(given)
const DAY_MS = 24 * 3_600_000
const [DAYS, WINDOW_DAYS] = [90, 10]
const TOGETHER = 32
const redis = kind === 'redis' ? await startRedis({ appendfsync: 'no' }) : undefined
const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
const data = join(directory, 'data')
let now = Date.UTC(2027, 0, 1)
const clock = { wall: () => now, monotonic: () => now }

const policies = plainPolicies()
const routing = join(policies, 'routing.yaml')
writeFileSync(
  routing,
  `retention: { threads: 8d, disclosures: 8d }\n${readFileSync(routing, 'utf8').replace(/^retention:.*$/m, '')}`,
)

const { config } = loadConfig({
  args: [
    '--port',
    '0',
    '--metrics-port',
    '0',
    '--policies',
    policies,
    '--store',
    redis?.url ?? `file:${data}`,
  ],
  env: {
    COUNTERSIGN_ADMIN_KEY: 'an-admin-key-for-benchmarks-on-loopback-only',
    COUNTERSIGN_BUDGET_BYTES_PER_DAY: String(10 ** 12),
  },
})
const NEVER_MS = 2 ** 30
const start = () =>
  startApp(config, {
    log: pino({ level: 'silent' }),
    openStore: () =>
      redis === undefined
        ? openEmbeddedStore({ path: data, clock, minFreeBytes: 0 })
        : openRedisStore({ address: parseRedisAddress(redis.url), clock, durability: 'async' }),
    timerEveryMs: NEVER_MS,
    reportEveryMs: NEVER_MS,
    checkpointEveryMs: NEVER_MS,
  })

/** The agent and the reviewer of the calls. */
async function peopleOf({ deps }) {
  const issue = async (kind, id) => {
    const { api_key } = await issueKey(deps, { kind, tenant: 'acme', id }, {})
    return identify(deps, kind, api_key)
  }
  return { agent: await issue('agent', 'demo-agent'), reviewer: await issue('reviewer', 'erin') }
}

const payloadOf = (i, cents) => ({
  from: 'acct_ops',
  to: 'acct_travel',
  amount_cents: cents,
  currency: 'eur',
  memo: `taxi to the airport, trip ${i}`,
})
const proposal = (i, cents) => ({
  taskId: `task-${i}`,
  request: { tool_name: 'ledger.transfer', payload: payloadOf(i, cents) },
})

async function one({ deps }, { agent, reviewer }, i) {
  const kind = i % 100
  const cents = kind < 90 ? 2_500 : kind < 98 ? 25_000 : 5_000_000
  const { answer } = await submit(deps, agent, proposal(i, cents))
  if (kind < 90 || kind >= 98) return
  const { thread_id } = answer
  await vote(deps, reviewer, { thread_id, vote: { decision: 'approve', revision: 1, comment: 'Fine.' } })
  const { answer: approved } = await poll(deps, agent, { thread_id }, { callerGone: () => false })
  const proof = {
    task_id: `task-${i}`,
    signature: approved.approval_token,
    request_payload: payloadOf(i, cents),
  }
  const { answer: redeemed } = await redeem(deps, agent, proof)
  if (!redeemed.valid) throw new Error(`call ${i} was not redeemed`)
}

/** Everything that is due, in rounds as a gateway would have them. */
async function due(deps) {
  for (let quiet = 0; quiet < 3;) {
    quiet = (await runDue(deps)) > 0 ? 0 : quiet + 1
    now += 300
  }
}

async function measured() {
  const archive = await (redis === undefined
    ? openEmbeddedArchive({ path: data, clock })
    : openRedisArchive({ address: parseRedisAddress(redis.url), clock, durability: 'async' }))
  try {
    const sums = { state: 0, disclosures: 0, evidence: 0 }
    for (const { kind, bytes } of await sizeOf(archive)) sums[kind in sums ? kind : 'state'] += bytes
    return sums
  } finally {
    await archive.close()
  }
}

/** The file of an embedded store; the memory of Redis. */
async function storeBytes() {
  if (redis === undefined) return statSync(join(data, 'store.mdb')).size
  return Number(/used_memory:(\d+)/.exec(await redis.ask('INFO', 'memory'))?.[1])
}

const MB = (bytes) => Number((bytes / 1e6).toFixed(2))
const rows = []
try {
  let app = await start()
  const people = await peopleOf(app)
  let i = 0
  let spent = process.cpuUsage()
  for (let day = 1; day <= DAYS; day++) {
    for (const end = Math.round((calls * day) / DAYS); i < end;) {
      const some = Math.min(TOGETHER, end - i)
      await Promise.all(Array.from({ length: some }, (_, k) => one(app, people, i + k)))
      i += some
      now += Math.floor((DAY_MS / (calls / DAYS)) * some)
    }
    await due(app.deps)
    if (day % WINDOW_DAYS !== 0) continue
    const { user, system } = process.cpuUsage(spent)
    await app.close()
    globalThis.gc?.()
    const sums = await measured()
    const opened = performance.now()
    app = await start()
    rows.push({
      day,
      calls: i,
      'state, MB': MB(sums.state),
      'disclosures, MB': MB(sums.disclosures),
      'log, MB': MB(sums.evidence),
      'store, MB': MB(await storeBytes()),
      'resident, MB': MB(process.memoryUsage.rss()),
      'ready, ms': Math.round(performance.now() - opened),
      'us a call': Math.round((user + system) / (calls / (DAYS / WINDOW_DAYS))),
    })
    spent = process.cpuUsage()
  }
  await app.close()
  console.log(`\nNode ${process.version}, ${kind} store`)
  console.table(rows)
} finally {
  rmSync(directory, { recursive: true })
  await redis?.stop()
}
