/*
 * This build against other builds of the gateway, such as the version before a change. All gateways run on the same
 * core and serve the same calls in alternate slices, so a busy machine slows all. Each gateway uses the starter
 * policies of its own checkout. A ratio of 1.00 means that this build answers as many calls as the other, or needs as
 * much processor time. `allow (outcome expected)` is an allowed call that keeps an entry in this build, beside one that
 * keeps none in the other.
 *
 * npm run build
 * node bench/compare.mjs FOLDER [FOLDER ...] [rounds] [seconds per slice] [--warm SECONDS]
 *
 * A folder is another checkout, built. `--warm` is how long each kind of call runs before it is measured: V8 optimizes
 * for 8 to 30 seconds.
 */
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { callsOf } from './calls.mjs'
import { cpuOf, median, pinThisProcess, plainPolicies, rangeOf, startGateway } from './gateway.mjs'
import { load } from './load.mjs'

const PROOFS_PER_SLICE = 500
const SECONDS_AFTER_START = ['first second', 'second second', 'third second']
const MOST_STARTS = 8

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { warm: { type: 'string', default: '8' } },
})
const folders = positionals.filter((one) => Number.isNaN(Number(one)))
const [rounds = 25, seconds = 0.4] = positionals.filter((one) => !folders.includes(one)).map(Number)
if (folders.length === 0 || !(Number(values.warm) >= 0)) {
  console.error('name the folder of a checkout that is built; --warm takes seconds')
  process.exit(2)
}

pinThisProcess()
/** The other builds, then this one. */
const builds = [
  ...folders.map((folder) => ({
    program: [join(resolve(folder), 'dist/bin/main.js'), 'serve'],
    policies: plainPolicies({ from: join(resolve(folder), 'policies'), expected: '' }),
  })),
  { policies: plainPolicies({ expected: 'outcome: expected within 10m\n' }) },
]
const start = (build) => startGateway({ pinned: true, ...build })

async function slice({ gateway, calls }, name, seconds) {
  const next = await calls[name]()
  const cpu = cpuOf(gateway.pid)
  const { count, perSecond, p99, unexpected } = await load(gateway.url, { next, seconds })
  if (Object.keys(unexpected).length > 0) console.log(name, 'unexpected answers:', unexpected)
  return { perSecond, p99, cpu: (cpuOf(gateway.pid) - cpu) / count }
}

async function warm(running, name) {
  const until = performance.now() + Number(values.warm) * 1_000
  while (performance.now() < until) await slice(running, name, (until - performance.now()) / 1_000)
}

/** Measures each kind of call; the preparation of votes and polls also warms the gateway. */
async function inSlices() {
  const running = await Promise.all(
    builds.map(async (build) => {
      const gateway = await start(build)
      return { gateway, calls: await callsOf(gateway, { proofs: PROOFS_PER_SLICE, expected: true }) }
    }),
  )
  const measured = {}
  for (const name of Object.keys(running[0].calls)) {
    for (const one of running) await warm(one, name)
    measured[name] = []
    for (let round = 0; round < rounds; round++) {
      const slices = []
      for (const one of running) slices.push(await slice(one, name, seconds))
      measured[name].push(slices)
    }
  }
  for (const { gateway } of running) await gateway.stop()
  return measured
}

/** Measures allowed calls in each of the first three seconds after a start. */
async function afterStarts() {
  const measured = Object.fromEntries(SECONDS_AFTER_START.map((name) => [name, []]))
  for (let round = 0; round < Math.min(rounds, MOST_STARTS); round++) {
    const seconds = Object.fromEntries(SECONDS_AFTER_START.map((name) => [name, []]))
    for (const build of builds) {
      const gateway = await start(build)
      const { allow } = await callsOf(gateway, { proofs: 1 })
      for (const name of SECONDS_AFTER_START)
        seconds[name].push(await slice({ gateway, calls: { [name]: allow } }, name, 1))
      await gateway.stop()
    }
    for (const name of SECONDS_AFTER_START) measured[name].push(seconds[name])
  }
  return measured
}

const measured = { ...(await inSlices()), ...(await afterStarts()) }
for (const [which, folder] of folders.entries()) {
  const rows = Object.entries(measured).map(([name, all]) => {
    const pairs = all.map((slices) => [slices[which], slices.at(-1)])
    const ratio = (of) => rangeOf(pairs.map(([before, now]) => of(now) / of(before)))
    return [
      name,
      {
        'answers/s': ratio(({ perSecond }) => perSecond),
        cpu: ratio(({ cpu }) => cpu),
        p99: ratio(({ p99 }) => p99),
        'cpu us': Math.round(median(pairs.map(([, { cpu }]) => cpu))),
      },
    ]
  })
  console.log(
    `\nNode ${process.version}, this build / ${folder}: ratios of ${rounds} pairs of slices of ${seconds} s, ` +
      `${values.warm} s warm: the median, and between which four fifths lie`,
  )
  console.table(Object.fromEntries(rows))
}
