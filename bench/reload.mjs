/*
 * Reloads 1,000 rule files in a running gateway. The benchmark measures the time from a change until the new bundle is
 * active, and the longest stall of the main thread. A timer inside the process and requests from outside measure the
 * stall.
 *
 * npm run build && node bench/reload.mjs [files] [reloads]
 */
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
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
/** Returns the number of loads. Reads the metric only four times a second, because a scrape also uses the main thread.
 * */
const loads = async () => {
  const text = await (await fetch(gateway.metrics)).text()
  return Number(/^countersign_policy_reloads_total\{result="ok"\} (\d+)$/m.exec(text)?.[1])
}
/** Returns the longest stall since the last call, ms. */
const stall = () => {
  process.kill(gateway.pid, 'SIGUSR2')
  return new Promise((resolve) => setTimeout(() => resolve(Number(readFileSync(report, 'utf8'))), 200))
}

/** Measures the gateway, and a client that sends without a pause, during `work`. */
async function watched(work) {
  await stall()
  let working = true
  let slowest = 0
  const client = (async () => {
    while (working) {
      const started = performance.now()
      await ask()
      slowest = Math.max(slowest, performance.now() - started)
    }
  })()
  const started = performance.now()
  await work()
  const took = performance.now() - started
  working = false
  await client
  return { 'took, ms': took, 'longest stall, ms': await stall(), 'slowest request, ms': slowest }
}

async function reload(i) {
  const before = await loads()
  const memory = setInterval(noteMemory, 20)
  appendFileSync(join(policies, 'rules/bench.t0.yaml'), `# ${i}\n`)
  while ((await loads()) === before) await pause(250)
  clearInterval(memory)
}

/** The largest resident memory of the process that loads, MB. */
let largest = 0
function noteMemory() {
  try {
    const children = readFileSync(`/proc/${gateway.pid}/task/${gateway.pid}/children`, 'utf8').split(' ')
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${children[0]}/status`, 'utf8'))
    largest = Math.max(largest, Number(kilobytes) / 1024)
  } catch {
    // the process has not started, or has exited
  }
}

/** Waits as long as a reload takes, and reads the metrics as often. */
async function nothing(ms) {
  const until = performance.now() + ms
  while (performance.now() < until) {
    await loads()
    await pause(250)
  }
}

for (let i = 0; i < 2_000; i++) await ask()
const [with_, without] = [[], []]
for (let i = 0; i < reloads; i++) {
  with_.push(await watched(() => reload(i)))
  without.push(await watched(() => nothing(with_[i]['took, ms'])))
}
const columns = Object.keys(with_[0])
const row = (rows, of) =>
  Object.fromEntries(columns.map((name) => [name, Math.round(of(rows.map((one) => one[name])))]))
const longest = (values) => Math.max(...values)
console.log(
  `${files} rule files of 10 rules, ${reloads} reloads, each followed by as long without one; a client asks all the time`,
)
console.table({
  'reload, median': row(with_, median),
  'no reload, median': row(without, median),
  'reload, longest': row(with_, longest),
  'no reload, longest': row(without, longest),
})
console.log(
  `longest stalls of the reloads: ${with_.map((one) => Math.round(one['longest stall, ms'])).join(', ')} ms`,
)
console.log(`without: ${without.map((one) => Math.round(one['longest stall, ms'])).join(', ')} ms`)
console.log(`the process that loads held ${Math.round(largest)} MB at the most`)
await gateway.stop()
rmSync(directory, { recursive: true, force: true })
