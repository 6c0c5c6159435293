/*
 * A quarter of a year in minutes: a gateway with a moved clock, so that retention is at work. 90 % of the calls are
 * allowed, 8 % are held, approved, collected and redeemed, and 2 % are rejected. Each row shows the store after a
 * window of ten days. Each day, the log is published as tiles, and its old records leave the store. Threads,
 * disclosures and the history of tasks end. All of these times have passed once on day 50. From then on, bytes, memory
 * and the processor time of a start may be 10 % above the most until then. Otherwise, the program exits with 1. One
 * entry for 256 records, and a checkpoint a day, stay. Memory is the resident set after a collection of garbage. The
 * time of a start is the least of three.
 *
 * npm run build && node bench/lifecycle.mjs [calls] [embedded|redis]
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { plainPolicies } from './gateway.mjs'
import {
  bytesIn,
  CENTS,
  DAY_MS,
  due,
  heldAndRedeemed,
  inTurn,
  movedClock,
  peopleOf,
  publishAll,
  removeAll,
  startMoved,
  submitted,
} from './moved-clock.mjs'
import { startRedis } from './redis-server.mjs'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc')
const [given = '60000', kind = 'embedded'] = process.argv.slice(2)
const calls = Number(given)
const [DAYS, WINDOW_DAYS, STEADY_DAY] = [90, 10, 50]
const redis = kind === 'redis' ? await startRedis({ appendfsync: 'no' }) : undefined
const directory = mkdtempSync(join(tmpdir(), 'countersign-bench-'))
const clock = movedClock(Date.UTC(2027, 0, 1))
const store = { data: join(directory, 'data'), redis: redis?.url, clock }
const tiles = join(directory, 'tiles')
const policies = plainPolicies({
  retention: '{ threads: 8d, disclosures: 8d, log_in_store: 1d, tasks: 31d }',
})
const start = () => startMoved({ policies, ...store })

async function one(app, people, i) {
  const kind = i % 100
  if (kind >= 90 && kind < 98) await heldAndRedeemed(app, people, { i })
  else await submitted(app, people, { i, cents: kind < 90 ? CENTS.allowed : CENTS.rejected })
}

/** The file of an embedded store; the memory of Redis. */
async function storeBytes() {
  if (redis === undefined) return statSync(join(store.data, 'store.mdb')).size
  return Number(/used_memory:(\d+)/.exec(await redis.ask('INFO', 'memory'))?.[1])
}

const MB = (bytes) => Number((bytes / 1e6).toFixed(2))
const rows = []
try {
  let app = await start()
  const people = await peopleOf(app)
  let i = 0
  let spent = process.cpuUsage()
  for (let day = 1; day <= DAYS; day++) {
    const to = Math.round((calls * day) / DAYS)
    const pass = (some) => (clock.now += Math.floor((DAY_MS / (calls / DAYS)) * some))
    await inTurn({ from: i, to, onSome: pass }, (call) => one(app, people, call))
    i = to
    await due(app, clock)
    await publishAll(app, tiles)
    await removeAll(app, tiles)
    if (day % WINDOW_DAYS !== 0) continue
    const { user, system } = process.cpuUsage(spent)
    await app.close()
    collectGarbage()
    const sums = await bytesIn(store)
    const ready = []
    for (let starts = 0; starts < 3; starts++) {
      if (starts > 0) await app.close()
      const opened = process.cpuUsage()
      app = await start()
      const { user, system } = process.cpuUsage(opened)
      ready.push(Math.round((user + system) / 1_000))
    }
    rows.push({
      day,
      calls: i,
      'state, MB': MB(sums.state),
      'disclosures, MB': MB(sums.disclosures),
      'log, MB': MB(sums.evidence),
      'store, MB': MB(await storeBytes()),
      'resident, MB': MB(process.memoryUsage.rss()),
      'ready, cpu ms': Math.min(...ready),
      'us a call': Math.round((user + system) / (calls / (DAYS / WINDOW_DAYS))),
    })
    spent = process.cpuUsage()
  }
  await app.close()
  console.log(`\nNode ${process.version}, ${kind} store`)
  console.table(rows)
  for (const name of ['state, MB', 'disclosures, MB', 'store, MB', 'resident, MB', 'ready, cpu ms']) {
    const most = (isLate) =>
      Math.max(...rows.filter(({ day }) => day > STEADY_DAY === isLate).map((row) => row[name]))
    const growth = most(true) / most(false)
    if (growth <= 1.1) continue
    console.log(`${name} grew by ${Math.round((growth - 1) * 100)} % after day ${STEADY_DAY}`)
    process.exitCode = 1
  }
} finally {
  rmSync(directory, { recursive: true })
  await redis?.stop()
}
