/*
 * The bytes that tiles and disclosures of a call take. In the first run, all calls are allowed. In the second, all are
 * held, approved, collected and redeemed. Tiles are the files in their place. Disclosures are compressed as a file for
 * each 65,536 records, as if they were moved there. The last column has their names and contents in the store.
 *
 * npm run build && node bench/tiles-bytes.mjs [allowed calls]
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { plainPolicies } from './gateway.mjs'
import {
  bytesIn,
  CENTS,
  heldAndRedeemed,
  inTurn,
  movedClock,
  openContent,
  peopleOf,
  publishAll,
  startMoved,
  submitted,
  TENANT,
} from './moved-clock.mjs'

const RECORDS_A_FILE = 65_536
const [calls = RECORDS_A_FILE] = process.argv.slice(2).map(Number)
const RECORDS_OF_HELD = 5
const GOALS = { allowed: 200, held: 750 }
const MEMO_CHARACTERS = 38
const policies = plainPolicies()
const root = mkdtempSync(join(tmpdir(), 'countersign-bench-tiles-'))

/** Letters of one call, the same in each run: no two memos compress as one. */
function memoOf(i) {
  let state = i + 1
  const letter = () => String.fromCharCode(97 + ((state = (state * 48_271) % 2_147_483_647) % 26))
  return Array.from({ length: MEMO_CHARACTERS }, letter).join('')
}

/** Bytes of all files below a folder. */
function filesIn(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
  return files.reduce(
    (sum, { parentPath, path, name }) => sum + statSync(join(parentPath ?? path, name)).size,
    0,
  )
}

/** Bytes of the tenant's disclosures, compressed as one file for each 65,536 records. */
async function compressed(store) {
  const files = []
  const archive = await openContent(store)
  for await (const { kind, number, disclosures } of archive.dump(TENANT))
    if (kind === 'event' && disclosures !== undefined)
      (files[Math.floor((number - 1) / RECORDS_A_FILE)] ??= []).push(`${number} ${disclosures}\n`)
  await archive.close()
  return files.reduce((sum, lines) => sum + gzipSync(lines.join('')).length, 0)
}

/** Bytes that calls of one kind leave, each. */
async function bytesOf(kind, count, one) {
  const data = join(root, kind)
  const tiles = join(root, `${kind}-tiles`)
  const clock = movedClock(Date.UTC(2027, 0, 1))
  const app = await startMoved({ policies, data, clock })
  const people = await peopleOf(app)
  await inTurn({ to: count, onSome: (some) => (clock.now += some) }, (i) => one(app, people, i))
  await publishAll(app, tiles)
  await app.close()
  const [placed, moved, stored] = [
    filesIn(tiles),
    await compressed({ data, clock }),
    await bytesIn({ data, clock }),
  ]
  const each = (bytes) => Math.round(bytes / count)
  return {
    calls: count,
    tiles: each(placed),
    'disclosures, as moved': each(moved),
    together: each(placed + moved),
    'disclosures in the store': each(stored.disclosures),
  }
}

const allowed = (app, people, i) => submitted(app, people, { i, cents: CENTS.allowed, memo: memoOf(i) })
const held = (app, people, i) => heldAndRedeemed(app, people, { i, memo: memoOf(i) })
try {
  const rows = {
    allowed: await bytesOf('allowed', calls, allowed),
    'held, approved, collected and redeemed': await bytesOf('held', Math.ceil(calls / RECORDS_OF_HELD), held),
  }
  console.log(`\nNode ${process.version}: bytes of a call`)
  console.table(rows)
  for (const [i, [name, { together }]] of Object.entries(rows).entries()) {
    const goal = Object.values(GOALS)[i]
    console.log(`goal: ${name} <= ${goal}: ${together <= goal ? 'met' : 'NOT MET'}`)
  }
} finally {
  rmSync(root, { recursive: true, force: true })
}
