/*
 * Measures the disk space that a call takes in the embedded store, including its evidence.
 *
 * npm run build && node bench/disk.mjs [allowed calls] [held calls]
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { startGateway } from './gateway.mjs'
import { load, requestBytes } from './load.mjs'

const [allowed = 40_000, held = 20_000] = process.argv.slice(2).map(Number)
const BLOCK_BYTES = 512
const transfer = (amount_cents) => ({
  tool_name: 'ledger.transfer',
  payload: { from: 'acct_ops', to: 'acct_travel', amount_cents, currency: 'eur', memo: 'train tickets' },
})

const gateway = await startGateway()
const key = await gateway.key('agent', 'demo-agent')
const size = () => statSync(join(gateway.directory, 'data/store.mdb')).blocks * BLOCK_BYTES
for (const [name, amount, count] of [
  ['allowed', 2_500, allowed],
  ['held', 25_000, held],
]) {
  const body = transfer(amount)
  const bytes = requestBytes(gateway.url, { path: '/api/agent/tasks/disk/requests', key, body })
  const before = size()
  let sent = 0
  const { count: answered } = await load(gateway.url, {
    next: () => (sent++ < count ? bytes : undefined),
    connections: 32,
  })
  console.log(`${name}: ${Math.round((size() - before) / answered)} bytes each, of ${answered}`)
}
await gateway.stop()
