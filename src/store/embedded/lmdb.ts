import { basename, dirname } from 'node:path'
import { getLastVersion, open } from 'lmdb'
import type { RootDatabase } from 'lmdb'
import { handOver } from './files.ts'
import {
  TAG,
  allOf,
  disclosuresKey,
  entryKey,
  entryPrefixLength,
  eventKey,
  firstKey,
  justBefore,
  justBehind,
  keep,
  limitKey,
  memberKey,
  numberKey,
  readEntry,
  readEventNumber,
  readPartition,
  recordKey,
  scoreCeiling,
  scoreFloor,
  stampKey,
} from './keys.ts'
import { decodeWindow, encodeWindow, type LimitWindow } from '../../domain/limit-window.ts'
import type { StoredEntry } from '../archive.ts'
import type { Batch, RecordHead } from './batch.ts'
import type { IndexEntry, RangeBounds, StoredDisclosures, StoredEvent, StoredRecord } from '../store.ts'

/*
 * The layout in LMDB: one database, binary keys (keys.ts). LMDB stores a version with each entry, as a double before
 * the value. It is:
 * - the revision of a record
 * - the score of a member
 * - the last number of a partition
 * - the count of batches in the stamp
 *
 * Values of records and events are `<commit id>\n<body>` in UTF-8.
 *
 * Reads are synchronous, see the state of the last batch, and exhaust their iterator before they return.
 */
export type Database = RootDatabase<string, Buffer>

const EMPTY = Buffer.from([0x30])
const NO_LIMIT = 9e15

/**
 * `overlappingSync: false`: the file is synced before a commit is visible or acknowledged, and a failed commit leaves
 * nothing behind. `eventTurnBatching: false`: each batch of the store is one explicit batch of LMDB with one promise,
 * so a failure is reported exactly once.
 */
export function openDatabase(file: string, { readOnly = false } = {}): Database {
  const db = open<string, Buffer>({
    readOnly,
    path: file,
    noSubdir: true,
    maxDbs: 1,
    overlappingSync: false,
    eventTurnBatching: false,
    encoding: 'string',
    keyEncoding: 'binary',
    useVersions: true,
  })
  // LMDB creates a missing lock file, for example beside a copy of the data file
  handOver(dirname(file), `${basename(file)}-lock`)
  return db
}

/** A database at one moment. */
export interface Snapshot {
  readonly db: Database
  /** Ends the read transaction. LMDB reuses no page that it can read, so the file grows while it lasts. */
  end(): void
}

/**
 * The content at this moment, whatever another process writes meanwhile: each read uses one read transaction of LMDB.
 * Only the methods of dump.ts are bound to it.
 */
export function snapshotOf(db: Database): Snapshot {
  const transaction = db.useReadTransaction()
  const at = { transaction }
  // the types of lmdb leave out the options of this method
  const binary = db.getBinaryFast.bind(db) as (key: Buffer, options: object) => Buffer | undefined
  const bound: Pick<Database, 'getEntry' | 'getBinaryFast' | 'getKeys' | 'getRange' | 'doesExist'> = {
    getEntry: (key) => db.getEntry(key, at),
    getBinaryFast: (key) => binary(key, at),
    getKeys: (options) => db.getKeys({ ...options, ...at }),
    getRange: (options) => db.getRange({ ...options, ...at }),
    doesExist: (key) => binary(key, at) !== undefined,
  }
  return { db: Object.assign(Object.create(db) as Database, bound), end: () => transaction.done() }
}

export interface Stamp {
  /** Number of batches so far. */
  readonly batches: number
  /** Time of the last batch, ms since 1970. */
  readonly time: number
  readonly storeId: string
}

export function readStamp(db: Database): Stamp | undefined {
  const entry = db.getEntry(stampKey())
  if (entry === undefined) return undefined
  const [time, storeId] = split(entry.value)
  return { batches: entry.version ?? 0, time: Number(time), storeId }
}

export function readRecord(
  db: Database,
  partition: string,
  type: string,
  id: string,
): StoredRecord | undefined {
  const value = db.get(recordKey(partition, type, id))
  if (value === undefined) return undefined
  const revision = getLastVersion()
  const [commitId, body] = split(value)
  return { body, revision, commitId }
}

/** Reads a record without its body, because most guards need only the record's head. */
export function readHead(db: Database, partition: string, type: string, id: string): RecordHead {
  const value = db.getBinaryFast(recordKey(partition, type, id))
  if (value === undefined) return { revision: 0, commitId: '' }
  return { revision: getLastVersion(), commitId: value.toString('utf8', 0, value.indexOf('\n')) }
}

export function readScore(
  db: Database,
  partition: string,
  index: string,
  member: string,
): number | undefined {
  return db.getBinaryFast(memberKey(partition, index, member)) === undefined ? undefined : getLastVersion()
}

export function readWindow(db: Database, partition: string, limit: string): LimitWindow | undefined {
  const value = db.get(limitKey(partition, limit))
  return value === undefined ? undefined : decodeWindow(value)
}

export function readLastNumber(db: Database, partition: string): number {
  return db.getBinaryFast(numberKey(partition)) === undefined ? 0 : getLastVersion()
}

export function readFirstNumber(db: Database, partition: string): number {
  return db.getBinaryFast(firstKey(partition)) === undefined ? 1 : getLastVersion()
}

export function readRange(db: Database, partition: string, index: string, bounds: RangeBounds): IndexEntry[] {
  const prefix = entryPrefixLength(partition, index)
  const [low, high] = limits(partition, index, bounds)
  const { reverse = false, limit } = bounds
  const [start, end] = reverse ? [high, low] : [low, high]
  const entries: IndexEntry[] = []
  for (const key of db.getKeys({ start, end, reverse, limit })) entries.push(readEntry(key, prefix))
  return entries
}

/** Counts all entries of the index, at about an eighth of a second per million. */
export function countRange(db: Database, partition: string, index: string): number {
  const [start, end] = limits(partition, index, { limit: NO_LIMIT })
  return db.getKeysCount({ start, end })
}

export function readEvents(db: Database, partition: string, after: number, limit: number): StoredEvent[] {
  const events: StoredEvent[] = []
  const start = keep(eventKey(partition, firstAfter(after)))
  const end = keep(eventKey(partition, NO_EVENT))
  for (const { key, value } of db.getRange({ start, end, limit })) {
    const [commitId, body] = split(value)
    events.push({ number: readEventNumber(key), body, commitId })
  }
  return events
}

/** The disclosures of the events with these numbers (S21). */
export function readDisclosures(
  db: Database,
  partition: string,
  after: number,
  last: number,
): StoredDisclosures[] {
  const start = keep(disclosuresKey(partition, firstAfter(after)))
  const end = keep(disclosuresKey(partition, firstAfter(last)))
  return Array.from(db.getRange({ start, end }), ({ key, value }) => ({
    number: readEventNumber(key),
    text: value,
  }))
}

/** The number of the first event of a partition that is there, or of the last one; 0 without events. */
export function readEndOfEvents(db: Database, partition: string, reverse = false): number {
  const low = keep(eventKey(partition, 0))
  const high = keep(eventKey(partition, NO_EVENT))
  const [start, end] = reverse ? [high, low] : [low, high]
  for (const key of db.getKeys({ start, end, reverse, limit: 1 })) return readEventNumber(key)
  return 0
}

/** Partitions that have events. */
export function readPartitions(db: Database): string[] {
  return Array.from(db.getKeys({ ...allOf(TAG.number), limit: NO_LIMIT }), readPartition)
}

/**
 * Writes a planned batch in one LMDB transaction on LMDB's own thread, if its stamp is still the current one. Resolves
 * when the batch is on disk. Resolves with `false` when nothing was written because another process wrote in between.
 * Rejects when the write failed.
 */
export async function writeBatch(db: Database, batch: Batch, stamp: Stamp): Promise<boolean> {
  const batches = stamp.batches + 1
  return db.ifVersion(keep(stampKey()), stamp.batches, () => {
    writeRecords(db, batch)
    writeMembers(db, batch)
    writeWindows(db, batch)
    writeEvents(db, batch)
    trimEvents(db, batch)
    for (const [partition, number] of batch.numbers) put(db, numberKey(partition), EMPTY, number)
    put(db, stampKey(), stampValue(batch.time, stamp.storeId), batches)
  })
}

/** Writes the first stamp of a new store. Resolves with `false` when the store already has a stamp. */
export function writeFirstStamp(db: Database, time: number, storeId: string): Promise<boolean> {
  return db.ifNoExists(keep(stampKey()), () => put(db, stampKey(), stampValue(time, storeId), 1))
}

/** Writes one entry of a dump. The caller must be inside a batch. */
export function writeEntry(db: Database, partition: string, entry: StoredEntry): void {
  switch (entry.kind) {
    case 'disclosures':
      put(db, disclosuresKey(partition, entry.number), Buffer.from(entry.text), 0)
      return
    case 'event':
      put(db, eventKey(partition, entry.number), Buffer.from(`${entry.commitId}\n${entry.body}`), 0)
      if (entry.disclosures !== undefined)
        put(db, disclosuresKey(partition, entry.number), Buffer.from(entry.disclosures), 0)
      return
    case 'index':
      put(db, entryKey(partition, entry.index, entry.score, entry.member), EMPTY, 0)
      put(db, memberKey(partition, entry.index, entry.member), EMPTY, entry.score)
      return
    case 'limit': {
      const window = { width: entry.width, buckets: new Map(entry.buckets) }
      put(db, limitKey(partition, entry.limit), Buffer.from(encodeWindow(window)), 0)
      return
    }
    case 'record': {
      const value = Buffer.from(`${entry.commitId}\n${entry.body}`)
      put(db, recordKey(partition, entry.type, entry.id), value, entry.revision)
    }
  }
}

export function writeLastNumber(db: Database, partition: string, last: number): void {
  put(db, numberKey(partition), EMPTY, last)
}

export function writeFirstNumber(db: Database, partition: string, first: number): void {
  put(db, firstKey(partition), EMPTY, first)
}

function writeEvents(db: Database, batch: Batch): void {
  for (const { partition, number, value, disclosures } of batch.events) {
    put(db, eventKey(partition, number), value, 0)
    if (disclosures !== undefined) put(db, disclosuresKey(partition, number), disclosures, 0)
  }
  for (const { partition, number } of batch.forgotten) void db.remove(disclosuresKey(partition, number))
}

function trimEvents(db: Database, { firsts }: Batch): void {
  for (const [partition, { before, after }] of firsts) {
    for (let number = before; number < after; number++) void db.remove(eventKey(partition, number))
    writeFirstNumber(db, partition, after)
  }
}

function writeRecords(db: Database, batch: Batch): void {
  for (const record of batch.records.values()) {
    if (!record.changed) continue
    const key = recordKey(record.partition, record.type, record.id)
    if (record.value === undefined) void db.remove(key)
    else put(db, key, record.value, record.revision)
  }
}

function writeMembers(db: Database, batch: Batch): void {
  for (const { partition, index, member, before, after } of batch.members.values()) {
    if (before === after) continue
    if (before !== undefined) void db.remove(entryKey(partition, index, before, member))
    if (after === undefined) {
      void db.remove(memberKey(partition, index, member))
    } else {
      put(db, entryKey(partition, index, after, member), EMPTY, 0)
      put(db, memberKey(partition, index, member), EMPTY, after)
    }
  }
}

function writeWindows(db: Database, batch: Batch): void {
  for (const { partition, limit, window, changed } of batch.windows.values()) {
    if (!changed) continue
    if (window === undefined) void db.remove(limitKey(partition, limit))
    else put(db, limitKey(partition, limit), Buffer.from(encodeWindow(window)), 0)
  }
}

/**
 * Puts a value inside a batch. Inside a batch, LMDB returns a shared promise that has no meaning. Only the batch's own
 * promise counts.
 */
function put(db: Database, key: Buffer, value: Buffer, version: number): void {
  void db.put(key, value as unknown as string, version)
}

function stampValue(time: number, storeId: string): Buffer {
  return Buffer.from(`${time}\n${storeId}`)
}

/** A value greater than any event's number. */
const NO_EVENT = 2 ** 48 - 1

/** The number after the given number; after the highest number, a value greater than any number. */
const firstAfter = (after: number): number => Math.min(after + 1, NO_EVENT)

/** The half-open interval [low, high) of keys. The bounds themselves are never keys. */
function limits(partition: string, index: string, bounds: RangeBounds): [low: Buffer, high: Buffer] {
  const { min = -Infinity, max = Infinity, after, reverse = false } = bounds
  let low = keep(scoreFloor(partition, index, Math.max(min, -Number.MAX_VALUE)))
  let high = keep(scoreCeiling(partition, index, Math.min(max, Number.MAX_VALUE)))
  if (after !== undefined) {
    const at = entryKey(partition, index, after.score, after.member)
    if (reverse) high = earlier(high, justBefore(at))
    else low = later(low, justBehind(at))
  }
  return [low, high]
}

function later(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) >= 0 ? a : b
}

function earlier(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) <= 0 ? a : b
}

/** Splits at the first line end. The first part is empty when the text has no line end. */
export function split(value: string): [line: string, rest: string] {
  const end = value.indexOf('\n')
  return [value.slice(0, Math.max(end, 0)), value.slice(end + 1)]
}
