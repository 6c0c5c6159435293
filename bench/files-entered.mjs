/*
 * The source files that one allowed and one held call enter. A file of dist/ is entered when a function of it runs
 * between request and answer (V8's precise coverage).
 *
 * After `npm run build`: node bench/files-entered.mjs [--list] [--json]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { plainPolicies } from './gateway.mjs'
import { parse } from 'yaml'
import { startApp } from '../dist/app.js'
import { loadConfig } from '../dist/settings/config.js'
import { createLog } from '../dist/telemetry/log/log.js'

const WARM_CALLS = 100
const MEASURED_CALLS = 9
const ADMIN_KEY = 'an-admin-key-for-benchmarks-on-loopback-only'
const transfer = (amount_cents) => ({
  tool_name: 'ledger.transfer',
  payload: {
    from: 'acct_ops',
    to: 'acct_travel',
    amount_cents,
    currency: 'eur',
    memo: 'train tickets',
  },
})
const CALLS = {
  allowed: { body: transfer(2_500), status: 'allow' },
  held: { body: transfer(25_000), status: 'pending_review' },
}
const DIST = new URL('../dist/', import.meta.url).href

const directory = mkdtempSync(join(tmpdir(), 'countersign-files-'))
const policies = plainPolicies()
const places = [
  '--port',
  '0',
  '--metrics-port',
  '0',
  '--store',
  `file:${directory}/data`,
  '--policies',
  policies,
]
const { config } = loadConfig({ args: places, env: { COUNTERSIGN_ADMIN_KEY: ADMIN_KEY }, parseYaml: parse })
// set intervals to an hour, so that only the call runs
const rare = 3_600_000
const app = await startApp(config, {
  log: createLog('error'),
  timerEveryMs: rare,
  reportEveryMs: rare,
  checkpointEveryMs: rare,
  webhooks: { everyMs: rare },
})
try {
  const key = await post('/api/admin/agents/acme/demo-agent/key', ADMIN_KEY, {})
  const entered = {}
  for (const [name, { body, status }] of Object.entries(CALLS)) {
    const act = async () => {
      const answer = await post('/api/agent/tasks/bench/requests', key.api_key, body)
      if (answer.status !== status) throw new Error(`the call was answered \`${answer.status}\``)
    }
    for (let i = 0; i < WARM_CALLS; i++) await act()
    const runs = []
    for (let i = 0; i < MEASURED_CALLS; i++) runs.push(await filesEnteredBy(act))
    // the run with the fewest files contains no occasional side work
    entered[name] = runs.toSorted((a, b) => a.length - b.length)[0]
  }
  if (process.argv.includes('--json')) {
    console.log(JSON.stringify({ allowed: entered.allowed.length, held: entered.held.length }))
  } else {
    for (const [name, files] of Object.entries(entered)) {
      if (process.argv.includes('--list')) console.log(files.join('\n'))
      console.log(`${files.length} source files entered by one ${name} call`)
    }
  }
} finally {
  await app.close()
  rmSync(directory, { recursive: true, force: true })
}

async function filesEnteredBy(act) {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await act()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  session.disconnect()
  return result
    .filter(
      ({ url, functions }) => url.startsWith(DIST) && functions.some(({ ranges }) => ranges[0].count > 0),
    )
    .map(({ url }) => url.slice(DIST.length))
    .toSorted()
}

async function post(path, bearer, body) {
  const response = await fetch(app.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response.json()
}
