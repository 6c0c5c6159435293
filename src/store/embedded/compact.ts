import { randomUUID } from 'node:crypto'
import { chmodSync, readdirSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sync } from '../../system/sync.ts'
import { WrongPlace } from '../archive.ts'
import { freeBytes, refuseNetworkFileSystem, type Statfs } from './disk.ts'
import {
  DATA_FILE,
  handOver,
  holdsStore,
  inspectDataFile,
  noStore,
  prepareDirectory,
  readMarker,
  refuseForeign,
  stateOfDataFile,
  syncDirectory,
} from './files.ts'
import { lockDirectory } from './lock.ts'
import { type Database, openDatabase } from './lmdb.ts'

/*
 * Returns free pages of the data file to the disk. LMDB reuses free pages, but its file never shrinks. A subdirectory
 * contains the smaller copy until one rename makes it the store. A kill at any moment therefore leaves the old file or
 * the new one, and perhaps the subdirectory, which the next start removes. A process that reads the old file meanwhile
 * keeps it.
 */

const BUILDING = 'compact.'
const LEFT = /^compact\.[0-9a-f-]{36}$/

/** Bytes of the data file. */
export interface Compaction {
  readonly before: number
  readonly after: number
}

export interface CompactOptions {
  /** The data directory. */
  readonly path: string
  /** The name of the deployment that owns the store. */
  readonly deployment?: string
  readonly statfs?: Statfs
}

interface Space {
  readonly fileBytes: number
  /** Bytes of pages with data. */
  readonly usedBytes: number
}

/**
 * Compacts a stopped store.
 *
 * @throws WrongPlace for a directory without a store, DirectoryInUse for a store in use. An Error of one sentence when
 * the file is damaged, belongs to another deployment, or does not fit on the disk a second time. Also an Error on a
 * network file system, and when another process changes the file
 */
export async function compactEmbedded({
  path,
  deployment,
  statfs = statfsSync,
}: CompactOptions): Promise<Compaction> {
  const directory = resolve(path)
  if (!holdsStore(directory)) throw new WrongPlace(noStore(path))
  refuseNetworkFileSystem(directory, statfs)
  const lock = await lockDirectory(directory)
  try {
    refuseForeign(readMarker(directory), deployment)
    removeUnfinished(directory)
    return await compactFile(directory, { statfs, keepFree: 0 })
  } finally {
    await lock.release()
  }
}

/** Removes what a killed compaction left. The caller holds the lock of the directory. */
export function removeUnfinished(directory: string): void {
  for (const entry of readdirSync(directory, { withFileTypes: true }))
    if (entry.isDirectory() && LEFT.test(entry.name))
      rmSync(join(directory, entry.name), { recursive: true, force: true })
}

/** A smaller file is not worth the time. */
const LEAST_BYTES = 64 * 1024 * 1024
/** More data would delay the start by too long. */
const MOST_BYTES = 1024 * 1024 * 1024

export interface StartOptions {
  readonly statfs: Statfs
  /** Bytes of the disk that stay free beside the copy. */
  readonly keepFree: number
  readonly note: (facts: object, text: string) => void
  readonly leastBytes?: number | undefined
}

/**
 * Compacts the file before a start, when more than half of it is free and the disk has room for the copy. A failure
 * leaves the file as it is, and the start continues. The caller holds the lock of the directory.
 */
export async function compactAtStart(directory: string, options: StartOptions): Promise<void> {
  const { statfs, keepFree, note, leastBytes = LEAST_BYTES } = options
  const file = statSync(join(directory, DATA_FILE), { throwIfNoEntry: false })
  if (file === undefined || file.size < leastBytes) return
  if (inspectDataFile(directory, true) !== 'whole') return
  const { fileBytes, usedBytes } = await spaceIn(directory)
  const facts = { file_bytes: fileBytes, used_bytes: usedBytes }
  if (usedBytes * 2 >= fileBytes || !hasRoom(directory, usedBytes, { statfs, keepFree })) return
  if (usedBytes > MOST_BYTES)
    return note(
      facts,
      'more than half of the store is free: `countersign store compact` returns it to the disk',
    )
  try {
    const { after } = await compactFile(directory, { statfs, keepFree })
    note({ ...facts, file_bytes: after }, 'the store was compacted, because more than half of it was free')
  } catch (error) {
    removeUnfinished(directory)
    note({ ...facts, error: String(error) }, 'the store could not be compacted, and is used as it is')
  }
}

/** The bits of a file's mode that are permissions. */
const OWN_MODE = 0o777

type Room = Pick<StartOptions, 'statfs' | 'keepFree'>

async function compactFile(directory: string, room: Room): Promise<Compaction> {
  if (inspectDataFile(directory, true) !== 'whole')
    throw new Error(`${DATA_FILE} is incomplete: \`countersign store check\` reports the damage`)
  const file = join(directory, DATA_FILE)
  const { size: before, mode } = statSync(file)
  const building = join(directory, `${BUILDING}${randomUUID()}`)
  try {
    const copy = join(building, DATA_FILE)
    await copyFile(directory, copy, { mode, before, room })
    const { size: after } = statSync(copy)
    renameSync(copy, file)
    syncDirectory(directory)
    return { before, after }
  } finally {
    removeCopy(building)
  }
}

/** Removes the copy, or leaves it to the next start. */
function removeCopy(building: string): void {
  try {
    rmSync(building, { recursive: true, force: true })
  } catch {
    // the outcome of the compaction counts
  }
}

interface Original {
  readonly mode: number
  /** Bytes of the data file. */
  readonly before: number
  readonly room: Room
}

/** Writes the copy, and checks that it equals the file and that the file did not change meanwhile. */
async function copyFile(directory: string, copy: string, { mode, before, room }: Original): Promise<void> {
  const building = dirname(copy)
  const db = openDatabase(join(directory, DATA_FILE))
  let copied: string
  try {
    copied = stateOfDataFile(directory)
    const { usedBytes } = spaceOf(db, before)
    if (!hasRoom(directory, usedBytes, room))
      throw new Error(`the disk has no room for the copy, which takes ${usedBytes} bytes`)
    prepareDirectory(building)
    await db.backup(copy, true)
    chmodSync(copy, mode & OWN_MODE)
    handOver(directory, join(basename(building), DATA_FILE))
    await requireEqual(db, copy)
  } finally {
    await db.close()
  }
  await sync(copy)
  if (stateOfDataFile(directory) !== copied)
    throw new Error(`another process changed ${DATA_FILE} during the compaction: stop it, and compact again`)
}

function hasRoom(directory: string, bytes: number, { statfs, keepFree }: Room): boolean {
  return freeBytes(directory, statfs) >= bytes + keepFree
}

async function spaceIn(directory: string): Promise<Space> {
  const file = join(directory, DATA_FILE)
  const db = openDatabase(file)
  try {
    return spaceOf(db, statSync(file).size)
  } finally {
    await db.close()
  }
}

/** The members of LMDB's statistics that count pages of a tree. */
interface Tree {
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

const HEADER_PAGES = 2

function spaceOf(db: Database, fileBytes: number): Space {
  const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } = db.getStats() as Tree
  const pages = HEADER_PAGES + treeBranchPageCount + treeLeafPageCount + overflowPages
  return { fileBytes, usedBytes: pages * pageSize }
}

/** Entries that are compared in one turn of the event loop. */
const TOGETHER = 10_000

/** Compares every entry of the copy with the original. @throws Error */
async function requireEqual(db: Database, path: string): Promise<void> {
  const copy = openDatabase(path, { readOnly: true })
  try {
    const others = copy.getRange({ versions: true })[Symbol.iterator]()
    let compared = 0
    for (const one of db.getRange({ versions: true })) {
      const other = others.next()
      if (other.done === true || !isEqual(one, other.value)) throw differs()
      compared += 1
      if (compared % TOGETHER === 0) await nextTurn()
    }
    if (others.next().done !== true) throw differs()
  } finally {
    await copy.close()
  }
}

const differs = (): Error => new Error(`the copy of ${DATA_FILE} differs from it: check the disk`)

interface Entry {
  readonly key: Buffer
  readonly value: string
  readonly version?: number
}

const isEqual = (one: Entry, other: Entry): boolean =>
  one.version === other.version && one.value === other.value && one.key.equals(other.key)
