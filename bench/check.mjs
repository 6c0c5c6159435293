/*
 * Measures the whole time of `countersign check` for a thousand rule files. Each file has an inline test and a
 * tool with a contract.
 *
 * npm run build && node bench/check.mjs [rounds]
 */
import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MAIN, median } from './gateway.mjs'
import { writeBundle } from './policies.mjs'

const [rounds = 5] = process.argv.slice(2).map(Number)
const FILES = 1_000
const TEST = `tests:
  - review: nothing covers it
    payload: { amount: 1, to: a, country: de, channel: none, urgent: false, items: 1 }
    by: [unmatched]
`

function once(directory) {
  const started = performance.now()
  const { status, stdout } = spawnSync(process.execPath, [MAIN, 'check', directory], { encoding: 'utf8' })
  const took = performance.now() - started
  if (status !== 0 || !stdout.includes(`${FILES} tests passed`)) throw new Error(stdout.slice(-500))
  return took
}

const table = {}
for (const perTool of [1, 3, 10]) {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
  writeBundle(directory, { tools: FILES, perTool })
  for (const name of readdirSync(join(directory, 'rules')))
    appendFileSync(join(directory, 'rules', name), TEST)
  const times = Array.from({ length: rounds }, () => once(directory))
  table[`${FILES} files of ${perTool} rules and a test`] = {
    'median, s': +(median(times) / 1000).toFixed(2),
    'fastest, s': +(Math.min(...times) / 1000).toFixed(2),
  }
  rmSync(directory, { recursive: true, force: true })
}
console.log(`Node ${process.version}, ${rounds} rounds; check also runs the tests`)
console.table(table)
console.log('goal: check and test of 1,000 rule files < 3 s')
