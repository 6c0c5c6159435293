import { randomUUID } from 'node:crypto'
import { statfsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { amountIn } from '../../domain/limit-window.ts'
import {
  checkClaim,
  checkCommit,
  checkCount,
  checkIndex,
  checkLimit,
  checkPartition,
  checkRange,
  checkRecordName,
} from '../check.ts'
import { createClock } from '../clock.ts'
import { DEFAULT_MIN_FREE_BYTES, createDiskGuard, refuseFullDisk, refuseNetworkFileSystem } from './disk.ts'
import {
  DATA_FILE,
  createDataFiles,
  extendDataFile,
  inspectDataFile,
  prepareDirectory,
  readMarker,
  refuseForeign,
  watchDataFile,
  writeMarker,
} from './files.ts'
import { compactAtStart, removeUnfinished, type StartOptions } from './compact.ts'
import { createBatch, encodeCommit } from './batch.ts'
import { dumpPartition } from './dump.ts'
import { lockDirectory } from './lock.ts'
import { createGroupCommit, failureCause, orFailureCause } from './group-commit.ts'
import {
  countRange,
  openDatabase,
  readDisclosures,
  readEvents,
  readFirstNumber,
  readLastNumber,
  readPartitions,
  readRange,
  readRecord,
  readHead,
  readScore,
  readStamp,
  readWindow,
  writeFirstStamp,
  writeBatch,
} from './lmdb.ts'
import { checkEnds, checkEverything } from './verify.ts'
import { StoreUnavailable } from '../store.ts'
import { createWatchers } from '../watchers.ts'
import type { DumpEntry } from '../archive.ts'
import type { ClockSources } from '../clock.ts'
import type { Statfs } from './disk.ts'
import type { StateBefore } from './batch.ts'
import type { DirectoryLock } from './lock.ts'
import type { Database, Stamp } from './lmdb.ts'
import type { GroupCommit, GroupCommitPorts } from './group-commit.ts'
import type {
  Claim,
  Commit,
  CommitResult,
  IndexEntry,
  RangeBounds,
  RecordName,
  Store,
  StoreHealth,
  StoredDisclosures,
  StoredEvent,
  StoredRecord,
} from '../store.ts'

export interface EmbeddedOptions {
  /** The data directory. A missing directory is created with access for the owner only. */
  readonly path: string
  /** The name of the deployment that owns the store. */
  readonly deployment?: string
  /** Free bytes on the disk below which the store refuses writes. Default 64 MiB. */
  readonly minFreeBytes?: number
  /** Free bytes below which the store asks callers to refuse new work. Default: `minFreeBytes`. */
  readonly newWorkBytes?: number
  readonly clock?: ClockSources
  readonly statfs?: Statfs
  /** Refuses a wrong clock by throwing, before the store records a time. Both in ms since 1970. */
  readonly checkTime?: (writtenAt: number, now: number) => void
  /** Compacts a file that is mostly free. Absent where the opening must be fast. */
  readonly compact?: Pick<StartOptions, 'note' | 'leastBytes'>
}

/** A store in one directory on a local disk, for use by one process. */
export interface EmbeddedStore extends Store {
  partitions(): Promise<string[]>
  /** Yields the content page by page, while commits change it. */
  dump(partition: string): AsyncIterable<DumpEntry>
}

/**
 * Opens or creates the store in a directory. Rejects with one clear sentence when another process uses the directory.
 * It also rejects a network file system, and damaged or incomplete data.
 */
export async function openEmbeddedStore(options: EmbeddedOptions): Promise<EmbeddedStore> {
  const directory = resolve(options.path)
  const statfs = options.statfs ?? statfsSync
  prepareDirectory(directory)
  refuseNetworkFileSystem(directory, statfs)
  const lock = await lockDirectory(directory)
  let db: Database | undefined
  try {
    refuseForeign(readMarker(directory), options.deployment)
    removeUnfinished(directory)
    const { minFreeBytes = DEFAULT_MIN_FREE_BYTES, newWorkBytes, compact } = options
    if (compact) await compactAtStart(directory, { statfs, keepFree: minFreeBytes, ...compact })
    db = openFiles(directory, statfs)
    const stamp = await readOrWriteStamp(db, directory, options)
    checkEnds(db)
    const facts = { statfs, displaced: watchDataFile(directory) }
    const disk = createDiskGuard(directory, { minFreeBytes, newWorkBytes }, facts)
    const clock = createClock(stamp.time, options.clock)
    options.checkTime?.(stamp.time, clock.now())
    return new Embedded({ db, lock, stamp, disk, clock })
  } catch (error) {
    await db?.close()
    await lock.release()
    throw asDamage(error)
  }
}

/** Turns an error of LMDB into one sentence about damaged data. */
function asDamage(error: unknown): unknown {
  const { message } = error as Error
  return /^MDB_(?:CORRUPTED|PAGE_NOTFOUND|INVALID|PANIC)\b/.test(message)
    ? new Error(`${DATA_FILE} is damaged (${message}): restore it from a backup`, { cause: error })
    : error
}

function openFiles(directory: string, statfs: Statfs): Database {
  const file = join(directory, DATA_FILE)
  const state = inspectDataFile(directory, readMarker(directory) !== undefined)
  if (state === 'absent') {
    refuseFullDisk(directory, statfs)
    createDataFiles(directory)
  }
  if (state === 'short') extendDataFile(directory)
  const db = openDatabase(file)
  if (state === 'short') checkEverything(db)
  return db
}

/**
 * Reads or writes the stamp. The stamp and the marker file must name the same store. Otherwise the data file does not
 * belong to this directory.
 */
async function readOrWriteStamp(
  db: Database,
  directory: string,
  { clock, deployment }: EmbeddedOptions,
): Promise<Stamp> {
  const marker = readMarker(directory)
  if (readStamp(db) === undefined)
    await orFailureCause(writeFirstStamp(db, createClock(0, clock).now(), randomUUID()))
  const stamp = readStamp(db)
  if (stamp === undefined) throw new Error(`${DATA_FILE} cannot be written`)
  if (marker === undefined)
    writeMarker(directory, { store: stamp.storeId, ...(deployment === undefined ? {} : { deployment }) })
  else if (marker.store !== stamp.storeId)
    throw new Error(`${DATA_FILE} belongs to another store: restore it from a backup`)
  return stamp
}

interface Parts {
  readonly db: Database
  readonly lock: DirectoryLock
  readonly stamp: Stamp
  readonly disk: ReturnType<typeof createDiskGuard>
  readonly clock: ReturnType<typeof createClock>
}

class Embedded implements EmbeddedStore {
  readonly durability = 'fsync'
  readonly #parts: Parts
  readonly #groupCommit: GroupCommit
  readonly #watchers = createWatchers()
  /**
   * A cache of last numbers between batches. The cache is valid because no other process writes to the store, which
   * `writeBatch` checks.
   */
  readonly #lastNumbers = new Map<string, number>()
  #stamp: Stamp
  #closing: Promise<void> | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.#stamp = parts.stamp
    this.#groupCommit = createGroupCommit(this.#ports(parts))
  }

  now(): number {
    return this.#parts.clock.now()
  }

  get(partition: string, type: string, id: string): Promise<StoredRecord | undefined> {
    return this.#read(partition, (db) => {
      checkRecordName(type, id)
      return readRecord(db, partition, type, id)
    })
  }

  range(partition: string, index: string, bounds: RangeBounds): Promise<IndexEntry[]> {
    return this.#read(partition, (db) => {
      checkRange(index, bounds)
      return readRange(db, partition, index, bounds)
    })
  }

  count(partition: string, index: string): Promise<number> {
    return this.#read(partition, (db) => {
      checkIndex(index)
      return countRange(db, partition, index)
    })
  }

  charged(partition: string, limit: string, windowMs: number): Promise<number> {
    return this.#read(partition, (db) => {
      checkLimit(limit, windowMs)
      return amountIn(readWindow(db, partition, limit), windowMs, this.now())
    })
  }

  events(partition: string, after: number, limit: number): Promise<StoredEvent[]> {
    return this.#read(partition, (db) => {
      checkCount('after', after)
      checkCount('limit', limit)
      return readEvents(db, partition, after, limit)
    })
  }

  firstEvent(partition: string): Promise<number> {
    return this.#read(partition, (db) => readFirstNumber(db, partition))
  }

  disclosures(partition: string, after: number, last: number): Promise<StoredDisclosures[]> {
    return this.#read(partition, (db) => {
      checkCount('after', after)
      checkCount('last', last)
      return readDisclosures(db, partition, after, last)
    })
  }

  epoch(partition: string): Promise<string> {
    return this.#read(partition, () => this.#stamp.storeId)
  }

  watch(partition: string, signal: AbortSignal, record?: RecordName): Promise<void> {
    return this.#read(partition, () => {
      if (record !== undefined) checkRecordName(record.type, record.id)
      return this.#watchers.wait(partition, signal, record)
    })
  }

  /** Commits. This function is not async, because each layer of promises costs a microsecond on this hot path. */
  commit(partition: string, commit: Commit): Promise<CommitResult> {
    try {
      return this.#groupCommit.commit(encodeCommit(partition, commit, checkCommit(partition, commit)))
    } catch (error) {
      return Promise.reject(error as Error)
    }
  }

  async claimDue(partition: string, index: string, claim: Claim): Promise<IndexEntry[]> {
    checkPartition(partition)
    checkClaim(index, claim)
    return this.#groupCommit.claim({ partition, index, claim })
  }

  shortOfRoom(): string | undefined {
    return this.#parts.disk.shortage()
  }

  async health(): Promise<StoreHealth> {
    this.now()
    const reason = this.#groupCommit.refusal()
    const roomBytes = this.#parts.disk.roomBytes()
    return {
      ...(reason === undefined ? { ready: true } : { ready: false, reason }),
      ...(roomBytes === undefined ? {} : { roomBytes }),
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  partitions(): Promise<string[]> {
    return this.#read('', readPartitions)
  }

  dump(partition: string): AsyncIterable<DumpEntry> {
    return dumpPartition(this.#parts.db, partition)
  }

  /** Runs a read, and turns exceptions into rejections. */
  async #read<T>(partition: string, run: (db: Database) => T | Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new StoreUnavailable('the store is closed')
    checkPartition(partition)
    return run(this.#parts.db)
  }

  async #shutDown(): Promise<void> {
    const writable = this.#groupCommit.refusal() === undefined
    await this.#groupCommit.close()
    if (writable) await this.#persistTime()
    this.#watchers.wakeAll()
    await this.#parts.db.close()
    await this.#parts.lock.release()
  }

  /** Writes an empty batch, so that the next process starts no earlier than `now` has returned (S12). */
  async #persistTime(): Promise<void> {
    const { db, clock } = this.#parts
    try {
      await writeBatch(db, createBatch(this.#before(), clock.now()), this.#stamp)
    } catch (error) {
      await failureCause(error) // no data is lost, because each commit was answered before closing
    }
  }

  /** False also when LMDB can no longer read the stamp, for example after a failure to write its root. */
  #stampIsUnchanged(): boolean {
    try {
      this.#parts.db.resetReadTxn()
      return readStamp(this.#parts.db)?.batches === this.#stamp.batches
    } catch {
      return false
    }
  }

  #before(): StateBefore {
    return stateBefore(this.#parts.db, this.#lastNumbers, this.#parts.stamp.storeId)
  }

  #ports({ db, clock, disk }: Parts): GroupCommitPorts {
    return {
      clock,
      disk,
      before: this.#before(),
      write: (batch) => writeBatch(db, batch, this.#stamp),
      leftNothing: () => this.#stampIsUnchanged(),
      landed: (batch) => {
        this.#stamp = { ...this.#stamp, batches: this.#stamp.batches + 1, time: batch.time }
        for (const [partition, number] of batch.numbers) this.#lastNumbers.set(partition, number)
        for (const partition of batch.partitions) this.#watchers.wake(partition)
        for (const record of batch.records.values())
          if (record.changed) this.#watchers.wake(record.partition, record)
      },
    }
  }
}

function stateBefore(db: Database, lastNumbers: ReadonlyMap<string, number>, epoch: string): StateBefore {
  return {
    epoch,
    refresh: () => db.resetReadTxn(),
    head: (partition, type, id) => readHead(db, partition, type, id),
    score: (partition, index, member) => readScore(db, partition, index, member),
    window: (partition, limit) => readWindow(db, partition, limit),
    lastNumber: (partition) => lastNumbers.get(partition) ?? readLastNumber(db, partition),
    firstNumber: (partition) => readFirstNumber(db, partition),
    due: (partition, index, { now, limit }) => readRange(db, partition, index, { max: now, limit }),
  }
}
