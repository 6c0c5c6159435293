/*
 * Processor time of the semantic difference of two bundles. The benchmark measures single edits of the starter bundle,
 * one of which affects every tool, and one edit among a thousand tools. It does not count loading, which
 * `countersign check` also does.
 *
 * npm run build && node bench/diff.mjs [rounds]
 */
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { diffBundles } from '../dist/policy/diff/diff.js'
import { prepareDirectory } from '../dist/policy/bundle/directory.js'
import { median } from './gateway.mjs'
import { writeBundle } from './policies.mjs'

const [rounds = 5] = process.argv.slice(2).map(Number)
const STARTER = fileURLToPath(new URL('../policies', import.meta.url))
const EDITS = {
  'threshold of payments.refund': ['rules/payments.refund.yaml', 'over: 500000 }', 'over: 400000 }'],
  'reject rule of ledger.transfer': ['rules/ledger.transfer.yaml', 'reject: Transfers', 'review: Transfers'],
  'list entry of shell.run': ['rules/shell.run.yaml', '[ls, cat,', '[ls, cat, git,'],
  'host of web.fetch': ['rules/web.fetch.yaml', '.internal, .local,', '.internal, .local, .example,'],
  'list of mail domains': ['routing.yaml', '[acme.com, acme.io]', '[acme.com, acme.io, acme.org]'],
  'unmatched: review, for all nine tools': ['routing.yaml', 'unmatched: reject', 'unmatched: review'],
}

const directories = []
function directory() {
  const made = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
  directories.push(made)
  return made
}

/** Copies the bundle without its inline tests, which an edit would break, and replaces one passage. */
function edited(source, [path, passage, by] = []) {
  const copy = directory()
  cpSync(source, copy, { recursive: true })
  for (const name of readdirSync(join(copy, 'rules'))) {
    const file = join(copy, 'rules', name)
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^tests:\n[^]*/m, ''))
  }
  if (path === undefined) return copy
  const text = readFileSync(join(copy, path), 'utf8')
  if (!text.includes(passage)) throw new Error(`${path} has no ${passage}`)
  writeFileSync(join(copy, path), text.replace(passage, by))
  return copy
}

async function load(dir) {
  const bundle = await prepareDirectory(dir)
  if (!bundle.ok) throw new Error(JSON.stringify(bundle.diagnostics.slice(0, 3)))
  return bundle
}

async function measure(before, after) {
  const [old, current] = [await load(before), await load(after)]
  const times = []
  let found
  for (let round = 0; round < rounds; round++) {
    const start = process.cpuUsage()
    found = await diffBundles(old, current)
    const { user, system } = process.cpuUsage(start)
    times.push((user + system) / 1000)
  }
  const changes = found.tools.reduce((sum, { changes }) => sum + changes.length, 0)
  return {
    'first, CPU ms': +times[0].toFixed(0),
    'median, CPU ms': +median(times).toFixed(0),
    cells: found.cells,
    changes,
    complete: found.complete,
  }
}

const results = {}
const starter = edited(STARTER)
for (const [name, edit] of Object.entries(EDITS))
  results[name] = await measure(starter, edited(STARTER, edit))
const many = writeBundle(directory(), { tools: 1_000, perTool: 3 })
results['1 of 1,000 tools'] = await measure(
  many,
  edited(many, ['rules/bench.t7.yaml', 'at_most: 500 ', 'at_most: 600 ']),
)

console.log(`Node ${process.version}, ${rounds} rounds`)
console.table(results)
const single = Object.entries(results).filter(([name]) => !name.startsWith('unmatched'))
const met = single.every(([, one]) => one['first, CPU ms'] < 1_000 && one.complete)
console.log(`goal: one edit < 1 s, complete: ${met ? 'met' : 'NOT MET'}`)
for (const made of directories) rmSync(made, { recursive: true, force: true })
