/*
 * The cost of tiles and retention. One gateway publishes tiles, and deletes old threads and disclosures. The other does
 * neither. The throughput of allowed calls of both is compared. Both have the same old calls at the start. They
 * share a core in alternate slices. One is stopped (SIGSTOP) while the other serves, so each pays for all its work.
 *
 * npm run build && node bench/tiles.mjs [--rounds 12] [--seconds 5] [--old 30000] [--with tiles,retention] (Linux)
 *
 * With `--with tiles` or `--with retention`, the second gateway does only that.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { callsOf } from './calls.mjs'
import { cpuOf, median, pinThisProcess, plainPolicies, rangeOf, startGateway } from './gateway.mjs'
import { load } from './load.mjs'
import {
  CENTS,
  DAY_MS,
  inTurn,
  movedClock,
  openContent,
  peopleOf,
  startMoved,
  submitted,
  TENANT,
  voted,
} from './moved-clock.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '12' },
    seconds: { type: 'string', default: '5' },
    old: { type: 'string', default: '30000' },
    with: { type: 'string', default: 'tiles,retention' },
  },
})
const [rounds, seconds, old] = [values.rounds, values.seconds, values.old].map(Number)
const OLD_DAYS = 10
const WARM_SECONDS = 3
const LOOK_EVERY_MS = 200
const LEAST_RATIO = 0.9
/** Records published for each call. A publication has many records, and may be under way at the end. */
const LEAST_PUBLISHED = 0.5
const [hasTiles, hasRetention] = ['tiles', 'retention'].map((one) => values.with.split(',').includes(one))
const root = mkdtempSync(join(tmpdir(), 'countersign-bench-tiles-'))
const keeping = plainPolicies()
const forgetting = plainPolicies({ retention: '{ threads: 8d, disclosures: 8d, log_in_store: 1d }' })

/** Fills a store with held calls that were rejected ten days ago. */
async function fillOld(data) {
  const app = await startMoved({ policies: keeping, data, clock: movedClock(Date.now() - OLD_DAYS * DAY_MS) })
  const people = await peopleOf(app)
  await inTurn({ to: old }, async (i) => {
    const held = await submitted(app, people, { i, cents: CENTS.held })
    await voted(app, people, held, 'reject')
  })
  await app.close()
}

/** The number of records that are published in the data directory of a gateway. */
const published = ({ directory }) => {
  const note = statSync(checkpointOf(directory), { throwIfNoEntry: false })
  return note === undefined ? 0 : Number(readFileSync(checkpointOf(directory), 'utf8').split('\n')[1])
}
const checkpointOf = (directory) => join(directory, 'data/tiles', TENANT, 'checkpoint')

/** Starts a gateway on a copy of the old calls, which is stopped until its slice. */
async function startOn(filled, { name, policies, settings }) {
  const directory = mkdtempSync(join(root, 'gateway-'))
  cpSync(filled, join(directory, 'data'), { recursive: true, filter: (path) => !path.endsWith('.sock') })
  const today = new Date().toISOString().slice(0, 10)
  const gateway = await startGateway({
    pinned: true,
    directory,
    policies,
    settings: ['--accept-clock', today, ...settings],
  })
  const next = (await callsOf(gateway)).allow()
  process.kill(gateway.pid, 'SIGSTOP')
  return { ...gateway, name, next }
}

/** Lets a gateway run until retention is at work. A start waits a minute for its policies. */
async function untilForgetting({ pid, evidence }, after) {
  process.kill(pid, 'SIGCONT')
  while (!(await evidence(after)).includes('disclosures.expired'))
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  process.kill(pid, 'SIGSTOP')
}

/** A gateway alone for some seconds. */
async function slice(gateway, lasting) {
  const { pid, url, next } = gateway
  const before = published(gateway)
  const cpu = cpuOf(pid)
  process.kill(pid, 'SIGCONT')
  const { count, perSecond, p99, unexpected } = await load(url, { next, seconds: lasting })
  process.kill(pid, 'SIGSTOP')
  if (Object.keys(unexpected).length > 0) console.log(`unexpected answers ${gateway.name}:`, unexpected)
  return { count, perSecond, p99, cpu: (cpuOf(pid) - cpu) / count, published: published(gateway) - before }
}

/** Counts of the store of a gateway that does not run. */
async function countsIn(data) {
  const counts = { threads: 0, records: 0, last: 0, disclosures: [] }
  const archive = await openContent({ data })
  for await (const entry of archive.dump(TENANT)) {
    if (entry.kind === 'head') counts.last = entry.last
    if (entry.kind === 'event') counts.records += 1
    if (entry.kind === 'record' && entry.type === 'thread') counts.threads += 1
    // of a record that left the store, only the disclosures are there
    if (entry.kind === 'disclosures' || entry.disclosures !== undefined) counts.disclosures.push(entry.number)
  }
  await archive.close()
  return counts
}

async function throughput() {
  const filled = join(root, 'filled')
  await fillOld(filled)
  const before = await countsIn(filled)
  const gateways = [
    await startOn(filled, { name: 'without', policies: keeping, settings: ['--tiles', 'off'] }),
    await startOn(filled, {
      name: 'with',
      policies: hasRetention ? forgetting : keeping,
      settings: hasTiles ? [] : ['--tiles', 'off'],
    }),
  ]
  if (hasRetention) await untilForgetting(gateways[1], before.last)
  for (const gateway of gateways) await slice(gateway, WARM_SECONDS)
  const pairs = []
  for (let round = 0; round < rounds; round++) {
    const pair = []
    // each is the first one in turn
    for (const which of [round % 2, 1 - (round % 2)]) pair[which] = await slice(gateways[which], seconds)
    pairs.push(pair)
  }
  for (const { pid, stop } of gateways) {
    process.kill(pid, 'SIGCONT')
    await stop({ keep: true })
  }
  const ratio = (of) => rangeOf(pairs.map(ratioOf(of)))
  const middle = (of) => pairs[0].map((_, which) => median(pairs.map((pair) => of(pair[which]))))
  const row = (of, digits) => {
    const [without, with_] = middle(of).map((value) => +value.toFixed(digits))
    return { without, with: with_, ratio: ratio(of) }
  }
  console.log(
    `\nNode ${process.version}, ${rounds} pairs of slices of ${seconds} s: medians, and between which ratios four fifths lie`,
  )
  console.table({
    'answers/s': row(({ perSecond }) => perSecond, 0),
    'answers in a second of processor time': row(perProcessorSecond, 0),
    'p99, ms': row(({ p99 }) => p99, 1),
  })
  const after = await countsIn(join(gateways[1].directory, 'data'))
  reportWork({ before, after, atEnd: published(gateways[1]), slices: pairs.map(([, with_]) => with_) })
  const verdict = (of) => (median(pairs.map(ratioOf(of))) >= LEAST_RATIO ? 'met' : 'NOT MET')
  console.log(
    `goal: throughput >= ${LEAST_RATIO} of without: ${verdict(({ perSecond }) => perSecond)}, ` +
      `for processor time ${verdict(perProcessorSecond)}`,
  )
}

/** Other processes on the machine change the answers in a second, but hardly the processor time of an answer. */
const perProcessorSecond = ({ cpu }) => 1_000_000 / cpu
const ratioOf =
  (of) =>
  ([without, with_]) =>
    of(with_) / of(without)

/** Prints what the second gateway did beside its answers, and whether that was as much as its calls asked for. */
function reportWork({ before, after, atEnd, slices }) {
  const sum = (of) => slices.reduce((total, one) => total + of(one), 0)
  const [count, placed] = [sum((one) => one.count), sum((one) => one.published)]
  const threads = before.threads - after.threads
  const isOld = (number) => number <= before.last
  const disclosures = before.disclosures.length - after.disclosures.filter(isOld).length
  console.log(
    `in its slices ${count} calls, and ${placed} records published; ${after.last - atEnd} are not published yet. ` +
      `Since its start ${threads} of ${before.threads} old threads deleted, ${disclosures} of ${before.disclosures.length} ` +
      `old disclosures, and ${after.last - after.records} of ${after.last} records from the store`,
  )
  if (hasTiles && placed < count * LEAST_PUBLISHED) fail('tiles were not at work: repeat with more --rounds')
  if (hasRetention && (threads === 0 || disclosures === 0)) fail('retention was not at work')
  if (after.threads === 0) fail('retention had nothing left to do: repeat with more old threads (--old)')
}

const fail = (why) => console.log(`NOT MEASURED: ${why}`)

try {
  pinThisProcess()
  await throughput()
} finally {
  rmSync(root, { recursive: true, force: true })
}
