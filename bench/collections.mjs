/*
 * Garbage of decisions: the bytes that each call allocates. Counts full collections and scavenges per ten thousand
 * calls, and measures how long they stop the event loop. On a busy core, one of every few hundred callers waits for a
 * full collection (docs/decisions/0021). It sends the requests of http.mjs.
 *
 * npm run build && node bench/collections.mjs [seconds per row] [connections]
 */
import { createInterface } from 'node:readline'
import { call, pinThisProcess, startGateway } from './gateway.mjs'
import { load, requestBytes } from './load.mjs'

const [seconds = 20, connections = 64] = process.argv.slice(2).map(Number)
const PER = 10_000
/**
 * A line such as `[pid:isolate] 1234 ms: Scavenge 20.1 (40.2) -> 18.3 (40.2) MB, 1.21 / 0.00 ms ...`; the other kind is
 * `Mark-Compact`.
 */
const COLLECTION = /ms: (Scavenge|Mark-Compact) .*?([\d.]+) \([\d.]+\) -> ([\d.]+) \([\d.]+\) MB, ([\d.]+) \//

pinThisProcess()
const gateway = await startGateway({ pinned: true, flags: ['--trace-gc'] })
let seen = []
createInterface({ input: gateway.output }).on('line', (line) => {
  const found = COLLECTION.exec(line)
  if (!found) return
  const [, kind, before, after, ms] = found
  seen.push({ kind, before: Number(before), after: Number(after), ms: Number(ms) })
})
const key = await gateway.key('agent', 'demo-agent')
const path = '/api/agent/tasks/task-1/requests'
const transfer = (amount_cents) => ({
  tool_name: 'ledger.transfer',
  payload: { from: 'acct_ops', to: 'acct_travel', amount_cents, currency: 'eur', memo: 'train tickets' },
})
const held = await call(gateway.url, { method: 'POST', path, key, body: transfer(25_000) })
const rows = {
  allow: { path, key, body: transfer(2_500) },
  review: { path, key, body: transfer(25_000) },
  poll: { method: 'GET', path: `/api/agent/decisions?thread_id=${held.thread_id}`, key },
}

const table = {}
for (const [name, request] of Object.entries(rows)) {
  const bytes = requestBytes(gateway.url, request)
  const run = (lasting) => load(gateway.url, { next: () => bytes, seconds: lasting, connections })
  await run(3)
  seen = []
  const { count } = await run(seconds)
  const of = (kind) => seen.filter((one) => one.kind === kind)
  const each = (number) => (number * PER) / count
  const ms = (list) => each(list.reduce((sum, one) => sum + one.ms, 0)).toFixed(1)
  // the heap grows from the end of one collection to the start of the next
  const megabytes = seen.slice(1).map(({ before }, i) => before - seen[i].after)
  const allocated = megabytes.reduce((sum, one) => sum + one, 0) * 1e6
  const share = Math.max(0, seen.length - 1) / Math.max(1, seen.length)
  const [full, young] = [of('Mark-Compact'), of('Scavenge')]
  table[name] = {
    calls: count,
    'bytes a call': share === 0 ? '-' : Math.round(allocated / (count * share)),
    full: each(full.length).toFixed(2),
    'full, ms': ms(full),
    scavenges: each(young.length).toFixed(1),
    'scavenges, ms': ms(young),
  }
}
console.log(
  `Node ${process.version}, ${connections} connections; collections and their pauses for each ${PER} calls`,
)
console.table(table)
await gateway.stop()
process.exit(0)
