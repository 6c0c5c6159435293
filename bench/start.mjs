/*
 * The footprint of a gateway: resident memory at rest, production packages, and the time of a start. A start lasts from
 * `spawn` to the first 200 of /readyz, on an empty store and on a store with many threads.
 *
 * npm run build && node bench/start.mjs [starts] [threads]
 */
import { spawnSync } from 'node:child_process'
import { call, median, memoryOf, startGateway } from './gateway.mjs'
import { load, requestBytes } from './load.mjs'

const [starts = 10, records = 20_000] = process.argv.slice(2).map(Number)
const REST_MS = 3_000
const HELD = {
  tool_name: 'ledger.transfer',
  payload: { from: 'acct_ops', to: 'acct_travel', amount_cents: 25_000, currency: 'eur' },
}

/** Returns the time for Node.js to start and end without work: a measure of the machine's current speed. */
function timeOfNothing() {
  const started = performance.now()
  spawnSync(process.execPath, ['-e', '0'])
  return performance.now() - started
}

const times = []
const nothing = []
const rest = { rss: [], anonymous: [] }
for (let i = 0; i < starts; i++) {
  nothing.push(timeOfNothing())
  const gateway = await startGateway()
  times.push(gateway.readyMs)
  if (i < 3) {
    await new Promise((resolve) => setTimeout(resolve, REST_MS))
    const { rss, anonymous } = memoryOf(gateway.pid)
    rest.rss.push(rss / 1024)
    rest.anonymous.push(anonymous / 1024)
  }
  await gateway.stop()
}

const full = await startGateway()
const key = await full.key('agent', 'demo-agent')
const bytes = requestBytes(full.url, { path: '/api/agent/tasks/task-1/requests', key, body: HELD })
let left = records
await load(full.url, { next: () => (left-- > 0 ? bytes : undefined) })
await call(full.url, { path: '/readyz' })
await full.stop({ keep: true })
const again = []
for (let i = 0; i < 5; i++) {
  const gateway = await startGateway({ directory: full.directory })
  again.push(gateway.readyMs)
  await gateway.stop({ keep: i < 4 })
}

const listed = spawnSync('npm', ['ls', '--omit=dev', '--all', '--parseable'], { encoding: 'utf8' }).stdout
const packages = new Set(listed.trim().split('\n').slice(1)).size
const row = (value, goal) => ({ value: +value.toFixed(0), goal, met: value <= goal })
console.table({
  [`ready after start, ms (median of ${starts})`]: row(median(times), 500),
  [`ready after start, ms (fastest)`]: row(Math.min(...times), 500),
  'the same in starts of an empty Node process': row(median(times) / median(nothing), 9),
  'resident memory at rest, MB': row(median(rest.rss), 110),
  'of it anonymous, MB': row(median(rest.anonymous), 110),
  [`ready on a store with ${records} pending threads, ms`]: row(median(again), 500),
  'production packages': row(packages, 75),
})
