/*
 * Measures the processor time of a decision for different numbers of rules in the bundle and for the tool. The baseline
 * is the same conditions as closures, called one after another, which no engine can beat.
 *
 * npm run build && node bench/policy.mjs [rounds]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadBundle } from '../dist/policy/bundle/directory.js'
import { median } from './gateway.mjs'
import { writeBundle } from './policies.mjs'

const [rounds = 7] = process.argv.slice(2).map(Number)
const CALLS = 20_000
const SIZES = {
  '10 rules, 10 per tool': { tools: 1, perTool: 10 },
  '1,000 rules, 10 per tool': { tools: 100, perTool: 10 },
  '10,000 rules, 10 per tool': { tools: 1_000, perTool: 10 },
  '3,000 rules, 3 per tool': { tools: 1_000, perTool: 3 },
  '3,000 rules, 100 per tool': { tools: 30, perTool: 100 },
}

/** Payloads with six fields for every bundle size, so that only the bundle differs. */
const payloads = Array.from({ length: 512 }, (_, i) => ({
  amount: (i * 131) % 1_500,
  to: `acct_${i}`,
  country: ['de', 'fr', 'us', 'jp'][i % 4],
  channel: `c${i % 7}`,
  urgent: i % 2 === 0,
  items: i % 9,
}))

function closures(perTool) {
  return Array.from({ length: perTool }, (_, i) => {
    const countries = i % 2 === 0 ? ['de', 'fr'] : ['us', 'jp']
    return (payload) =>
      payload.amount > i * 97 &&
      payload.amount <= i * 97 + 500 &&
      countries.includes(payload.country) &&
      payload.channel === `c${i % 7}`
  })
}

async function microseconds(run) {
  const before = process.cpuUsage()
  for (let i = 0; i < CALLS; i++) await run(i)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / CALLS
}

const cases = {}
const directories = []
for (const [name, size] of Object.entries(SIZES)) {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
  directories.push(directory)
  const loaded = await loadBundle(writeBundle(directory, size))
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.diagnostics.slice(0, 3)))
  const rules = Array.from({ length: size.tools }, () => closures(size.perTool))
  const at = Date.now()
  cases[name] = {
    engine: [],
    direct: [],
    decide: (i) =>
      loaded.snapshot.decide({
        tool: `bench.t${i % size.tools}`,
        payload: payloads[i % payloads.length],
        tenant: 'acme',
        agent: 'demo-agent',
        at,
      }),
    ask: async (i) => rules[i % size.tools].filter((fires) => fires(payloads[i % payloads.length])),
  }
}
for (let round = 0; round <= rounds; round++) {
  for (const one of Object.values(cases)) {
    const [engine, direct] = [await microseconds(one.decide), await microseconds(one.ask)]
    if (round > 0) {
      one.engine.push(engine)
      one.direct.push(direct)
    }
  }
}
const base = cases['10 rules, 10 per tool']
const growth = ({ engine }) => median(engine.map((value, i) => value / base.engine[i]))
console.log(`Node ${process.version}, CPU us per decision, medians of ${rounds} rounds of ${CALLS} calls`)
console.table(
  Object.fromEntries(
    Object.entries(cases).map(([name, one]) => [
      name,
      {
        'decide, us': +median(one.engine).toFixed(2),
        'closures, us': +median(one.direct).toFixed(2),
        'x closures': +median(one.engine.map((value, i) => value / one.direct[i])).toFixed(1),
        'x 10 rules': +growth(one).toFixed(2),
      },
    ]),
  ),
)
console.log(
  `goal: 10,000 rules <= 1.6 x 10 rules: ${growth(cases['10,000 rules, 10 per tool']) <= 1.6 ? 'met' : 'NOT MET'}`,
)
for (const directory of directories) rmSync(directory, { recursive: true, force: true })
