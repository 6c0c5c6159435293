/*
 * Reloading 1,000 rule files in a running gateway: the time from a change to the new bundle in force, and the longest time that the
 * main thread did not answer meanwhile (a timer inside the gateway's process, loaded by --import, and requests from outside).
 *
 *   npm run build && node bench/reload.mjs [files] [reloads]
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { call, median, startGateway } from './gateway.mjs'
import { writeBundle } from './policies.mjs'

const [files = 1_000, reloads = 5] = process.argv.slice(2).map(Number)
const WATCH = fileURLToPath(new URL('./stall-watch.mjs', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
const policies = writeBundle(join(directory, 'policies'), { tools: files, perTool: 10 })
const report = join(directory, 'stall')
process.env.STALL_REPORT = report
const gateway = await startGateway({ policies, flags: ['--import', WATCH] })
const key = await gateway.key('agent', 'demo-agent')
const ask = () =>
  call(gateway.url, {
    method: 'POST',
    path: '/api/agent/tasks/t/requests',
    key,
    body: { tool_name: 'bench.t0', payload: { amount: 1 } },
  })
/** Asked for four times a second only: rendering the metrics of a thousand tools is work of the main thread, too. */
const loads = async () => {
  const text = await (await fetch(gateway.metrics)).text()
  return Number(/^countersign_policy_reloads_total\{result="ok"\} (\d+)$/m.exec(text)?.[1])
}
/** The longest stall since the last call, in ms. */
const stall = () => {
  process.kill(gateway.pid, 'SIGUSR2')
  return new Promise((resolve) => setTimeout(() => resolve(Number(readFileSync(report, 'utf8'))), 200))
}

for (let i = 0; i < 200; i++) await ask()
await stall()
await new Promise((resolve) => setTimeout(resolve, 2_000))
const idle = await stall()
const rows = []
for (let i = 0; i < reloads; i++) {
  const before = await loads()
  let loading = true
  let slowest = 0
  const client = (async () => {
    while (loading) {
      const started = performance.now()
      await ask()
      slowest = Math.max(slowest, performance.now() - started)
    }
  })()
  const started = performance.now()
  appendFileSync(join(policies, 'rules/bench.t0.yaml'), `# ${i}\n`)
  while ((await loads()) === before) await new Promise((resolve) => setTimeout(resolve, 250))
  const took = performance.now() - started
  loading = false
  await client
  rows.push({
    'in force after, ms': took,
    'longest stall, ms': await stall(),
    'slowest request, ms': slowest,
  })
}
const middle = (name) => Math.round(median(rows.map((row) => row[name])))
console.log(
  `${files} rule files of 10 rules, median of ${reloads} reloads; without a reload the longest stall was ${idle.toFixed(0)} ms`,
)
console.table([Object.fromEntries(Object.keys(rows[0]).map((name) => [name, middle(name)]))])
await gateway.stop()
rmSync(directory, { recursive: true, force: true })
