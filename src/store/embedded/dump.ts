import { decodeWindow } from '../../domain/limit-window.ts'
import {
  compareText,
  type DisclosuresEntry,
  type DumpEntry,
  type EventEntry,
  type StoredEntry,
} from '../archive.ts'
import {
  TAG,
  allIn,
  disclosuresKey,
  entryKey,
  eventKey,
  justBehind,
  keep,
  readEventNumber,
  readNames,
  readWholeEntry,
} from './keys.ts'
import { type Database, readFirstNumber, readLastNumber, readScore, split } from './lmdb.ts'

/*
 * Yields the whole content of a partition in an embedded store. The lock keeps other processes out, or one read
 * transaction (lmdb.ts) serves all reads, so all pages show the same state.
 */

type Tag = (typeof TAG)[keyof typeof TAG]
interface Entry {
  readonly key: Buffer
  readonly value: string
  readonly version: number
}

/** Limits of a page, in entries and in code units. */
const PAGE_ENTRIES = 1_000
const PAGE_UNITS = 1_000_000
const PARTITIONED = [TAG.event, TAG.entry, TAG.limit, TAG.member, TAG.number, TAG.record]

/** Yields the names of all non-empty partitions. Each step jumps to the first key after the previous partition. */
export function namesOfPartitions(db: Database): string[] {
  const names = new Set<string>()
  for (const tag of PARTITIONED) {
    let start: Buffer = Buffer.from([tag])
    const end = Buffer.from([tag + 1])
    for (;;) {
      const [first] = Array.from(db.getKeys({ start, end, limit: 1 }), keep)
      if (first === undefined) break
      const [name = ''] = readNames(first.subarray(0, first.indexOf(0, 1) + 1))
      names.add(name)
      start = allIn(tag, name).end
    }
  }
  return [...names].toSorted(compareText)
}

export async function* dumpPartition(db: Database, partition: string): AsyncGenerator<DumpEntry> {
  const first = readFirstNumber(db, partition)
  yield { kind: 'head', first, last: readLastNumber(db, partition) }
  yield* disclosuresBefore(db, partition, first)
  yield* entriesOf(db, partition, TAG.event, (entry) => readEvent(db, partition, entry))
  for await (const number of entriesOf(db, partition, TAG.disclosures, ({ key }) => readEventNumber(key)))
    if (number >= first && !db.doesExist(eventKey(partition, number)))
      yield fault('S21', `event ${number} is missing, but its disclosures are there`)
  for await (const entry of entriesOf(db, partition, TAG.entry, readMember)) {
    yield entry
    yield* strayEntry(db, partition, entry)
  }
  for await (const entry of entriesOf(db, partition, TAG.member, readPlace)) {
    if (!db.doesExist(entryKey(partition, entry.index, entry.score, entry.member)))
      yield fault(
        'S15',
        `member ${JSON.stringify(entry.member)} is recorded in \`${entry.index}\`, but is not there`,
      )
  }
  for await (const entry of entriesOf(db, partition, TAG.limit, readLimit))
    yield entry ?? fault('S18', 'a limit cannot be parsed')
  yield* entriesOf(db, partition, TAG.record, readRecord)
}

/** Disclosures whose event was deleted (S22). */
async function* disclosuresBefore(
  db: Database,
  partition: string,
  first: number,
): AsyncGenerator<StoredEntry> {
  if (first === 1) return
  for await (const entry of entriesOf(db, partition, TAG.disclosures, readText)) {
    if (entry.number >= first) return
    yield entry
  }
}

/** Reports an entry without its row in the table of members, which no commit could ever move or remove (S15). */
function* strayEntry(
  db: Database,
  partition: string,
  { index, score, member }: { index: string; score: number; member: string },
): Generator<DumpEntry> {
  if (readScore(db, partition, index, member) === score) return
  yield fault(
    'S15',
    `member ${JSON.stringify(member)} is in \`${index}\` at a score that the table of members does not record`,
  )
}

function fault(law: string, what: string): DumpEntry {
  return { kind: 'fault', law, what }
}

/** Reads all entries of one kind a page at a time, so that other tasks can run. */
async function* entriesOf<T>(
  db: Database,
  partition: string,
  tag: Tag,
  read: (entry: Entry) => T,
): AsyncGenerator<T> {
  let { start, end } = allIn(tag, partition)
  for (;;) {
    const page: T[] = []
    let units = 0
    let last: Buffer | undefined
    for (const entry of db.getRange({ start, end, versions: true, limit: PAGE_ENTRIES })) {
      last = keep(entry.key)
      units += entry.value.length
      page.push(read({ key: last, value: entry.value, version: entry.version ?? 0 }))
      if (units > PAGE_UNITS) break
    }
    yield* page
    if (last === undefined) return
    start = justBehind(last)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function readEvent(db: Database, partition: string, { key, value }: Entry): StoredEntry {
  const [commitId, body] = split(value)
  const number = readEventNumber(key)
  const text = db.getBinaryFast(disclosuresKey(partition, number))?.toString('utf8')
  const event: EventEntry = { kind: 'event', number, commitId, body }
  return text === undefined ? event : { ...event, disclosures: text }
}

const readText = ({ key, value }: Entry): DisclosuresEntry => ({
  kind: 'disclosures',
  number: readEventNumber(key),
  text: value,
})

function readMember({ key }: Entry): StoredEntry & { kind: 'index' } {
  return { kind: 'index', ...readWholeEntry(key) }
}

function readPlace({ key, version }: Entry): { index: string; score: number; member: string } {
  const [, index = '', member = ''] = readNames(key)
  return { index, score: version, member }
}

function readLimit({ key, value }: Entry): StoredEntry | undefined {
  const [, limit = ''] = readNames(key)
  try {
    const { width, buckets } = decodeWindow(value)
    return { kind: 'limit', limit, width, buckets: [...buckets].toSorted(([a], [b]) => a - b) }
  } catch {
    return undefined
  }
}

function readRecord({ key, value, version }: Entry): StoredEntry {
  const [, type = '', id = ''] = readNames(key)
  const [commitId, body] = split(value)
  return { kind: 'record', type, id, revision: version, commitId, body }
}
