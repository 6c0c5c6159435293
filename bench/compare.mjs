/*
 * This build against another build of the gateway, such as the version before a change. Both gateways run on the same
 * core and serve the same calls in alternate slices, so a busy machine slows both. Each gateway uses the starter
 * policies of its own checkout. A ratio of 1.00 means that this build answers as many calls as the other.
 *
 * npm run build && node bench/compare.mjs <folder of the other checkout, built> [rounds] [seconds per slice]
 */
import { join, resolve } from 'node:path'
import { callsOf } from './calls.mjs'
import { cpuOf, median, pinThisProcess, plainPolicies, rangeOf, startGateway } from './gateway.mjs'
import { load } from './load.mjs'

const [folder, rounds = 25, seconds = 0.4] = process.argv.slice(2)
if (folder === undefined) {
  console.error('name the folder of a checkout that is built')
  process.exit(2)
}
const WARM_SECONDS = 3
const PROOFS_PER_SLICE = 500

pinThisProcess()
const other = resolve(folder)
const gateways = [
  await startGateway({
    pinned: true,
    program: [join(other, 'dist/bin/main.js'), 'serve'],
    policies: plainPolicies({ from: join(other, 'policies') }),
  }),
  await startGateway({ pinned: true }),
]
const calls = await Promise.all(gateways.map((gateway) => callsOf(gateway, { proofs: PROOFS_PER_SLICE })))

async function slice(which, name, seconds) {
  const { url, pid } = gateways[which]
  const next = await calls[which][name]()
  const cpu = cpuOf(pid)
  const { count, perSecond, p99, unexpected } = await load(url, {
    next,
    seconds,
  })
  if (Object.keys(unexpected).length > 0) console.log(name, 'unexpected answers:', unexpected)
  return { perSecond, p99, cpu: (cpuOf(pid) - cpu) / count }
}

const table = {}
for (const name of Object.keys(calls[0])) {
  for (const which of [0, 1]) await slice(which, name, WARM_SECONDS)
  const pairs = []
  for (let round = 0; round < rounds; round++)
    pairs.push([await slice(0, name, +seconds), await slice(1, name, +seconds)])
  const ratio = (of) => rangeOf(pairs.map(([before, now]) => of(now) / of(before)))
  table[name] = {
    'answers/s': ratio(({ perSecond }) => perSecond),
    cpu: ratio(({ cpu }) => cpu),
    p99: ratio(({ p99 }) => p99),
    'cpu us': Math.round(median(pairs.map(([, { cpu }]) => cpu))),
  }
}
console.log(
  `\nNode ${process.version}, this build / ${folder}: ratios of ${rounds} pairs of slices of ${seconds} s: the median, and between which four fifths lie`,
)
console.table(table)
for (const gateway of gateways) await gateway.stop()
