import { appendFileSync, cpSync, readdirSync, watch } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { ALL, purged } from '../../src/gateway/core/expiry-index.ts'
import { INDEX } from '../../src/gateway/core/indexes.ts'
import { openEmbeddedArchive } from '../../src/store/embedded/archive.ts'
import { openEmbeddedStore } from '../../src/store/embedded/store.ts'
import type { Write } from '../../src/store/store.ts'
import { runCli } from '../cli/run.ts'
import { MAIN, startProcess } from '../crash.ts'
import { type Dice, diceOf } from '../random.ts'
import { IS_LONG, rounds } from '../runs.ts'
import { commitOf } from '../store/commit-of.ts'
import { until } from '../until.ts'
import {
  type Answer,
  type Ask,
  type Evidence,
  exportOf,
  type Gateway,
  inDirectory,
  LARGE_CENTS,
  SMALL_CENTS,
  SMALL_POLICIES,
  startGateway,
  transfer,
  TRANSFER_PATH,
  verdictOn,
} from './gateway.ts'

/**
 * kill -9 while retention deletes threads and disclosures, and then while the store is compacted. In each round, the
 * calls of the round before the last become too old. The next run finishes the work, and everything younger, and what
 * is under a legal hold, is there.
 */

/** Each round has two kills. */
const ROUNDS = rounds({ check: 2, short: 6, long: 50 })
const DAY_MS = 24 * 3_600_000
const KEPT_DAYS = 8
const ROUND_DAYS = 5
const HELD_TASK = 'task-stays'
/** Calls of a round: more than the 200 records of one commit. */
const [ALLOWED, REJECTED, REDEEMED] = [90, 30, 10]
/** Retention takes about so long for the calls of a round, ms, of which the threads take the beginning. */
const [WHOLE_MS, THREADS_MS] = [1_200, 60]
/** A compaction takes about so long, ms. */
const COMPACTION_MS = 15
/** The timer of a gateway looks so often, ms. */
const TICK_MS = 500
/** A start without policies in force looks again a minute later. */
const WITHIN_MS = 120_000

it(
  `${2 * ROUNDS} times kill -9 during retention and compaction: the next run finishes, and nothing else is lost`,
  () => inDirectory(killRetention),
  ROUNDS * 200_000,
)

/** Calls about one account. */
interface Batch {
  readonly account: string
  /** Numbers, hashes and disclosures of its records. */
  readonly records: readonly string[]
  readonly threads: readonly string[]
}

interface World {
  readonly directory: string
  readonly dice: Dice
  readonly keys: { readonly agent: string; readonly reviewer: string }
  /** From the start of a gateway to its first 200 of /readyz. */
  readonly readyMs: number
  /** How far the clock of the store is ahead of that of the machine. */
  aheadMs: number
  start(): Promise<Gateway>
}

async function killRetention(directory: string): Promise<void> {
  const seed = Number(process.env['COUNTERSIGN_TEST_SEED'] ?? (IS_LONG ? Date.now() % 2 ** 31 : 20_261_128))
  console.log(`seed ${seed} (COUNTERSIGN_TEST_SEED repeats the moments of the kills)`)
  const policies = withRetention(directory)
  const gateways: Gateway[] = []
  const start = async (): Promise<Gateway> => {
    const gateway = await startGateway({ directory, policies, args: ['--store-deadline', '10000'] })
    gateways.push(gateway)
    return gateway
  }
  try {
    const gateway = await start()
    const keys = {
      agent: await gateway.key('agent', 'demo-agent'),
      reviewer: await gateway.key('reviewer', 'alice'),
    }
    const { readyMs } = gateway
    await killInRounds(gateway, { directory, start, dice: diceOf(seed), keys, readyMs, aheadMs: 0 })
  } finally {
    for (const gateway of gateways) await stop(gateway, 'SIGKILL')
  }
}

async function killInRounds(first: Gateway, world: World): Promise<void> {
  const { directory } = world
  await first.admin('POST', '/legal-holds', { tenant: 'acme', task_id: HELD_TASK, reason: 'a dispute' })
  const stays = await live(first, world, { account: 'acct_stays', task: HELD_TASK })
  let old = await live(first, world, { account: 'acct_first', task: 'task-first' })
  await stop(first)
  await passDays(world, ROUND_DAYS)
  let gateway = await world.start()
  let gone: Batch | undefined
  const cuts = { retention: 0, compaction: 0 }
  for (let round = 0; round < ROUNDS; round++) {
    const number = String(round).padStart(3, '0')
    const young = await live(gateway, world, { account: `acct_${number}`, task: `task-${number}` })
    await stop(gateway)
    await expectNoTrace(gone, directory)
    await passDays(world, ROUND_DAYS)
    if (await killDuringRetention(world, old)) cuts.retention += 1
    await expectFine(directory)
    if (await killDuringCompaction(world)) cuts.compaction += 1
    await expectFine(directory)
    gateway = await finish(world, old)
    await expectThere(gateway, world, [stays, young])
    expect((await verdictOn(gateway, directory)).faults).toEqual([])
    gone = old
    old = young
  }
  await stop(gateway)
  await expectNoTrace(gone, directory)
  console.log(
    `${ROUNDS} kills during retention, of which ${cuts.retention} cut it off, ` +
      `and ${ROUNDS} during compaction, of which ${cuts.compaction} cut it off`,
  )
}

function withRetention(directory: string): string {
  const policies = join(directory, 'policies')
  cpSync(SMALL_POLICIES, policies, { recursive: true })
  const retention = `retention: { threads: ${KEPT_DAYS}d, disclosures: ${KEPT_DAYS}d }\n`
  appendFileSync(join(policies, 'routing.yaml'), retention)
  return policies
}

async function stop(gateway: Gateway, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  gateway.hangUp()
  await gateway.process.kill(signal)
}

/** Allowed calls, and threads that were rejected or redeemed. */
async function live(
  gateway: Gateway,
  { keys: { agent, reviewer } }: World,
  { account, task }: { readonly account: string; readonly task: string },
): Promise<Batch> {
  // calls of one task that are equal share a thread
  const about = (cents: number): Call => {
    const call = transfer(cents)
    return { ...call, payload: { ...call.payload, to: account } }
  }
  const answerTo = async (one: Ask): Promise<Answer['body']> => {
    const answer = await gateway.ask(one)
    expect([answer.status, answer.text]).toEqual([200, answer.text])
    return answer.body
  }
  const submit = (call: Call): Promise<Answer['body']> =>
    answerTo({ method: 'POST', path: TRANSFER_PATH(task), key: agent, body: call })
  const decided = async (call: Call, decision: 'approve' | 'reject'): Promise<string> => {
    const { thread_id } = (await submit(call)) as { thread_id: string }
    const body = { decision, revision: 1, comment: `About ${account}.` }
    await answerTo({ method: 'POST', path: `/api/review/threads/${thread_id}/votes`, key: reviewer, body })
    return thread_id
  }
  const redeemed = async (call: Call): Promise<string> => {
    const thread = await decided(call, 'approve')
    const path = `/api/agent/decisions?thread_id=${thread}`
    const { approval_token: signature } = await answerTo({ path, key: agent })
    const body = { task_id: task, signature, request_payload: call.payload }
    const answer = await answerTo({ method: 'POST', path: '/api/agent/approvals/validate', key: agent, body })
    expect(answer).toEqual({ valid: true })
    return thread
  }
  const each = <T>(count: number, one: (i: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: count }, (_, i) => one(i)))
  const before = (await recordsOf(gateway)).length
  await each(ALLOWED, () => submit(about(SMALL_CENTS)))
  const rejected = await each(REJECTED, (i) => decided(about(LARGE_CENTS + i), 'reject'))
  const threads = [...rejected, ...(await each(REDEEMED, (i) => redeemed(about(2 * LARGE_CENTS + i))))]
  return { account, threads, records: (await recordsOf(gateway)).slice(before) }
}

/** All evidence with its disclosures. Records that left the store have no commit. */
async function recordsOf(gateway: Gateway): Promise<string[]> {
  const lines = (await exportOf(gateway)).split('\n').slice(0, -1)
  return lines.map((line) => {
    const { number, leaf_hash, disclosures } = JSON.parse(line) as Evidence & { disclosures?: unknown }
    return JSON.stringify({ number, leaf_hash, disclosures })
  })
}

type Call = ReturnType<typeof transfer>

/**
 * Moves the clock of a stopped store. Retention is planned for soon after the next start: a start that has no policies
 * yet would look again a minute later. The plan itself must be there.
 */
async function passDays(world: World, days: number): Promise<void> {
  world.aheadMs += days * DAY_MS
  const clock = { wall: () => Date.now() + world.aheadMs, monotonic: () => 0 }
  const store = await openEmbeddedStore({ path: join(world.directory, 'data'), minFreeBytes: 0, clock })
  const planned = await store.range('acme', INDEX.purge, { limit: 10_000 })
  const members = [purged('threads', ALL), purged('disclosures', ALL)]
  expect(planned.map(({ member }) => member)).toEqual(expect.arrayContaining(members))
  const to = store.now() + plannedInMs(world)
  const writes = members.map((member): Write => ({ op: 'index', index: INDEX.purge, member, to }))
  expect(await store.commit('acme', commitOf(store, { writes }))).toMatchObject({ ok: true })
  await store.close()
}

/** Long enough for a start on a busy machine. */
const plannedInMs = ({ readyMs }: World): number => 1_000 + 3 * readyMs

/** Starts a gateway, and kills it while it deletes a batch. Returns true when some of the batch is left. */
async function killDuringRetention(world: World, old: Batch): Promise<boolean> {
  const { directory, dice, keys } = world
  const gateway = await world.start()
  const [first = ''] = old.threads
  await pause(plannedInMs(world) - gateway.readyMs)
  if (dice.once(4)) await pause(dice.below(TICK_MS))
  else {
    await until(() => isThreadGone(gateway, keys, first), WITHIN_MS)
    await pause(dice.below(dice.once(2) ? THREADS_MS : WHOLE_MS))
  }
  await stop(gateway, 'SIGKILL')
  return (await tracesOf(old, directory)).length > 0
}

const isThreadGone = async (
  gateway: Gateway,
  { reviewer }: World['keys'],
  thread: string,
): Promise<boolean> =>
  (await gateway.ask({ path: `/api/review/threads/${thread}`, key: reviewer })).status === 404

/** Entries of a stopped store that have the account or a thread of the batch. Records of evidence name the thread. */
async function tracesOf({ account, threads }: Batch, directory: string): Promise<string[]> {
  const found: string[] = []
  const archive = await openEmbeddedArchive({ path: join(directory, 'data') })
  for await (const entry of archive.dump('acme')) {
    const text = entry.kind === 'event' ? (entry.disclosures ?? '') : JSON.stringify(entry)
    if (text.includes(account) || threads.some((thread) => text.includes(thread))) found.push(text)
  }
  await archive.close()
  return found
}

/** Compacts the store, and kills that process. Returns true when it was killed before its end. */
async function killDuringCompaction({ directory, dice }: World): Promise<boolean> {
  const data = join(directory, 'data')
  const folder = watch(data)
  const begun = new Promise<void>((resolve) => {
    folder.on('change', (_, name) => String(name).startsWith('compact.') && resolve())
  })
  const child = startProcess(MAIN, ['store', 'compact', '--store', `file:${data}`])
  await Promise.race([begun, child.ended])
  await pause(dice.below(COMPACTION_MS))
  const { signal } = await child.kill()
  folder.close()
  return signal === 'SIGKILL'
}

async function expectNoTrace(batch: Batch | undefined, directory: string): Promise<void> {
  if (batch !== undefined) expect(await tracesOf(batch, directory)).toEqual([])
}

async function expectFine(directory: string): Promise<void> {
  const { code, out } = await runCli(['store', 'check', '--store', `file:${directory}/data`], {
    cwd: directory,
  })
  expect([code, out]).toEqual([0, expect.stringContaining('fine: nothing found')])
}

/** Compacts the store, and starts a gateway, which deletes the rest of the batch. */
async function finish(world: World, old: Batch): Promise<Gateway> {
  const { directory, keys } = world
  const compacted = await runCli(['store', 'compact', '--store', `file:${directory}/data`], {
    cwd: directory,
  })
  expect(compacted).toMatchObject({ code: 0 })
  expect(readdirSync(join(directory, 'data')).filter((name) => name.startsWith('compact.'))).toEqual([])
  await passDays(world, 0)
  const gateway = await world.start()
  await pause(plannedInMs(world) - gateway.readyMs)
  for (const thread of old.threads) await until(() => isThreadGone(gateway, keys, thread), WITHIN_MS)
  await until(() => isExpired(gateway, old), WITHIN_MS)
  const disclosed = new Set(old.records.filter(hasDisclosures))
  expect((await recordsOf(gateway)).filter((record) => disclosed.has(record))).toEqual([])
  return gateway
}

const hasDisclosures = (record: string): boolean => record.includes('"disclosures":')

/** True when the last disclosures of a batch are gone. Retention deletes them in the order of their records. */
async function isExpired(gateway: Gateway, { records }: Batch): Promise<boolean> {
  const { number } = JSON.parse(records.findLast(hasDisclosures) ?? '') as Evidence
  const query = `tenant=acme&disclosures=true&after=${number - 1}&limit=1`
  return !hasDisclosures((await gateway.admin('GET', `/evidence?${query}`)).text)
}

/** The threads and the disclosures of batches are as they were. */
async function expectThere(gateway: Gateway, { keys }: World, batches: readonly Batch[]): Promise<void> {
  const there = new Set(await recordsOf(gateway))
  for (const { account, threads, records } of batches) {
    expect(records.filter((record) => !there.has(record))).toEqual([])
    for (const thread of threads) {
      const shown = await gateway.ask({ path: `/api/review/threads/${thread}`, key: keys.reviewer })
      expect([shown.status, shown.text]).toEqual([200, expect.stringContaining(`About ${account}.`)])
    }
  }
}
