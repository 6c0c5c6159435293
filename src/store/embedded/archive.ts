import { randomUUID } from 'node:crypto'
import { readdirSync, renameSync, rmSync, statfsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type StoreArchive, type StoredEntry, type StoreRestore, WrongPlace } from '../archive.ts'
import { type Clock, type ClockSources, createClock } from '../clock.ts'
import { dumpPartition, namesOfPartitions } from './dump.ts'
import { refuseFullDisk, refuseNetworkFileSystem, type Statfs } from './disk.ts'
import {
  createDataFiles,
  DATA_FILE,
  extendDataFile,
  handOver,
  holdsStore,
  inspectDataFile,
  MARKER_FILE,
  noStore,
  prepareDirectory,
  readMarker,
  refuseForeign,
  syncDirectory,
  writeMarker,
} from './files.ts'
import { DirectoryInUse, type DirectoryLock, lockDirectory } from './lock.ts'
import { orFailureCause } from './group-commit.ts'
import {
  type Database,
  openDatabase,
  readStamp,
  type Snapshot,
  snapshotOf,
  writeEntry,
  writeFirstNumber,
  writeFirstStamp,
  writeLastNumber,
} from './lmdb.ts'

export interface EmbeddedPlace {
  /** The data directory. */
  readonly path: string
  /** The name of the deployment that owns the store. */
  readonly deployment?: string
  readonly clock?: ClockSources
  readonly statfs?: Statfs
}

/**
 * Opens the store in a directory to read its whole content. It changes nothing. Accepts evidence with gaps, so that the
 * caller can report the gaps. A gateway may be using the store: the archive then shows one moment of it.
 *
 * @throws WrongPlace when the directory has no store; an Error of one sentence when the file is damaged, or the store
 * belongs to another deployment
 */
export async function openEmbeddedArchive({ path, clock, deployment }: EmbeddedPlace): Promise<StoreArchive> {
  const directory = resolve(path)
  if (!holdsStore(directory)) throw new WrongPlace(noStore(path))
  const lock = await lockDirectory(directory).catch(whenInUse)
  let db: Database | undefined
  try {
    refuseForeign(readMarker(directory), deployment)
    const file = join(directory, DATA_FILE)
    if (lock === undefined) {
      db = openDatabase(file, { readOnly: true })
      const snapshot = snapshotOf(db)
      return archiveOf(snapshot.db, clock, () => endSnapshot(snapshot, db))
    }
    if (inspectDataFile(directory, readMarker(directory) !== undefined) === 'short') extendDataFile(directory)
    db = openDatabase(file)
    return archiveOf(db, clock, () => closeAll(db, lock))
  } catch (error) {
    await db?.close()
    await lock?.release()
    throw error
  }
}

function whenInUse(error: unknown): undefined {
  if (error instanceof DirectoryInUse) return undefined
  throw error
}

async function endSnapshot(snapshot: Snapshot, db: Database | undefined): Promise<void> {
  snapshot.end()
  await db?.close()
}

async function closeAll(db: Database | undefined, lock: DirectoryLock): Promise<void> {
  await db?.close()
  await lock.release()
}

const archiveOf = (
  db: Database,
  clock: ClockSources | undefined,
  close: () => Promise<void>,
): EmbeddedArchive => new EmbeddedArchive({ db, close, clock: createClock(readStamp(db)?.time ?? 0, clock) })

interface ArchiveParts {
  readonly db: Database
  readonly clock: Clock
  readonly close: () => Promise<void>
}

class EmbeddedArchive implements StoreArchive {
  readonly #parts: ArchiveParts

  constructor(parts: ArchiveParts) {
    this.#parts = parts
  }

  now = (): number => this.#parts.clock.now()
  time = (): Promise<number> => Promise.resolve(readStamp(this.#parts.db)?.time ?? 0)
  partitions = (): Promise<string[]> => Promise.resolve(namesOfPartitions(this.#parts.db))
  dump = (partition: string): ReturnType<typeof dumpPartition> => dumpPartition(this.#parts.db, partition)

  close(): Promise<void> {
    return this.#parts.close()
  }
}

const BUILDING = 'restore.'
/** Limits of one transaction, in entries and in code units. */
const BATCH_ENTRIES = 5_000
const BATCH_UNITS = 2_000_000

/**
 * Prepares a restore into a directory without a store. A subdirectory on the same file system contains the loaded data,
 * until one rename turns it into the store. Mount points therefore work as well, and no process ever sees a partial
 * store.
 *
 * @throws WrongPlace when the directory already has a store
 */
export async function openEmbeddedRestore({
  path,
  deployment,
  clock,
  statfs = statfsSync,
}: EmbeddedPlace): Promise<StoreRestore> {
  const directory = resolve(path)
  prepareDirectory(directory)
  refuseNetworkFileSystem(directory, statfs)
  const lock = await lockDirectory(directory)
  try {
    if (holdsStore(directory))
      throw new WrongPlace(`there is a store in \`${path}\` already: restore into another directory`)
    for (const name of readdirSync(directory))
      if (name.startsWith(BUILDING)) rmSync(join(directory, name), { recursive: true })
    refuseFullDisk(directory, statfs)
    const name = `${BUILDING}${randomUUID()}`
    const building = join(directory, name)
    prepareDirectory(building)
    handOver(directory, name)
    createDataFiles(building)
    const db = openDatabase(join(building, DATA_FILE))
    return new EmbeddedRestore(
      { db, clock: createClock(0, clock), close: () => closeAll(db, lock) },
      { directory, building, deployment, lock },
    )
  } catch (error) {
    await lock.release()
    throw error
  }
}

interface Building {
  readonly directory: string
  /** The subdirectory that becomes the store. */
  readonly building: string
  readonly deployment: string | undefined
  readonly lock: DirectoryLock
}

class EmbeddedRestore extends EmbeddedArchive implements StoreRestore {
  readonly #db: Database
  readonly #at: Building
  /** A new store id, which also starts a new epoch (S19). */
  readonly #storeId = randomUUID()
  readonly #firstNumbers = new Map<string, number>()
  readonly #lastNumbers = new Map<string, number>()
  #waiting: [partition: string, entry: StoredEntry][] = []
  #units = 0

  constructor(parts: ArchiveParts, at: Building) {
    super(parts)
    this.#db = parts.db
    this.#at = at
  }

  async load(partition: string, entry: StoredEntry): Promise<void> {
    if (entry.kind === 'event') {
      if (!this.#lastNumbers.has(partition)) this.#firstNumbers.set(partition, entry.number)
      this.#lastNumbers.set(partition, entry.number)
    }
    this.#waiting.push([partition, entry])
    if ('body' in entry) this.#units += entry.body.length
    if ('text' in entry) this.#units += entry.text.length
    if (this.#waiting.length >= BATCH_ENTRIES || this.#units >= BATCH_UNITS) await this.#flush()
  }

  async settle(time: number): Promise<void> {
    await this.#flush()
    await this.#batch(() => {
      for (const [partition, last] of this.#lastNumbers) writeLastNumber(this.#db, partition, last)
      for (const [partition, first] of this.#firstNumbers)
        if (first > 1) writeFirstNumber(this.#db, partition, first)
    })
    await orFailureCause(writeFirstStamp(this.#db, time, this.#storeId))
    const { building, deployment } = this.#at
    writeMarker(building, { store: this.#storeId, ...(deployment === undefined ? {} : { deployment }) })
  }

  /**
   * Publishes the store. The data file is a complete store, so its rename makes the restore atomic. The rename needs no
   * disk space; a full disk was reported earlier.
   */
  async publish(): Promise<void> {
    await this.#db.close()
    this.#bring(`${DATA_FILE}-lock`, DATA_FILE)
    this.#bring(MARKER_FILE)
    await this.#leave()
  }

  #bring(...names: string[]): void {
    const { building, directory } = this.#at
    for (const name of names) renameSync(join(building, name), join(directory, name))
    syncDirectory(directory)
  }

  async abandon(): Promise<void> {
    await this.#db.close()
    await this.#leave()
  }

  override close(): Promise<void> {
    return this.abandon()
  }

  async #leave(): Promise<void> {
    rmSync(this.#at.building, { recursive: true, force: true })
    await this.#at.lock.release()
  }

  async #flush(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    this.#units = 0
    await this.#batch(() => {
      for (const [partition, entry] of waiting) writeEntry(this.#db, partition, entry)
    })
  }

  async #batch(write: () => void): Promise<void> {
    await orFailureCause(this.#db.batch(write))
  }
}
