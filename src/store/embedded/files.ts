import {
  closeSync,
  fstatSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  lchownSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { makeDirectory } from '../../system/make-directory.ts'
import { FORMAT, otherFormat } from '../../domain/format.ts'

/*
 * The files of a data directory:
 * - `store.mdb`: LMDB's data.
 * - `store.mdb-lock`: LMDB's readers.
 * - `store.json`: written once the store exists. With this file, the store detects an emptied or removed data file,
 *   which must not look like a new store.
 * - `lock.<n>.sock`: see lock.ts.
 * - `compact.<id>`: a smaller copy that is not finished; see compact.ts.
 */
export const DATA_FILE = 'store.mdb'
export const MARKER_FILE = 'store.json'

const META_BYTES = 160
/** Offsets in an LMDB page that holds a meta record; the second such page follows the first. */
const META = { magic: 24, pageSize: 48, lastPage: 144, batches: 152 } as const
const MAGIC = 0xbeefc0de

export interface Marker {
  readonly format: string
  readonly store: string
  /** The deployment of the store; absent for the deployment without a name. */
  readonly deployment?: string
}

/**
 * `absent`: no data yet. `short`: the file ends before the last page that LMDB has used, and needs full verification.
 */
export type DataFile = 'absent' | 'whole' | 'short'

/**
 * Creates the directory.
 *
 * @throws Error with the name of the directory, because the system's error may name a file that the operator does not
 * know
 */
export function prepareDirectory(directory: string): void {
  try {
    makeDirectory(directory, 0o700)
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const said = code === 'EEXIST' ? 'is no directory' : `cannot be made: ${message}`
    throw new Error(`the data directory ${directory} ${said}`, { cause })
  }
}

/** Creates the data files, readable by the owner only, and syncs the directory, which LMDB does not do. */
export function createDataFiles(directory: string): void {
  for (const name of [DATA_FILE, `${DATA_FILE}-lock`]) {
    closeSync(openSync(join(directory, name), 'a', 0o600))
    handOver(directory, name)
  }
  syncDirectory(directory)
  try {
    syncDirectory(dirname(directory))
  } catch (error) {
    // an unreadable parent, such as /var/lib in some setups, existed before, so it is already durable
    if (!['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

/**
 * Gives a file to the directory's owner. Root may maintain the store of a service with its own user. If root owned a
 * file, that user's gateway could not open the store. Changes the owner of a link itself, not the owner of its target.
 */
export function handOver(directory: string, name: string): void {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = statSync(directory)
  if (uid === 0) return
  try {
    lchownSync(join(directory, name), uid, gid)
  } catch {
    // without the capability, as in some containers, root cannot change owners and remains the owner of the file
  }
}

export function holdsStore(directory: string): boolean {
  return (
    existsSync(directory) && (existsSync(join(directory, DATA_FILE)) || readMarker(directory) !== undefined)
  )
}

export const noStore = (path: string): string => `there is no store in \`${path}\``

/** Refuses a directory without a store before anything creates one there. @throws Error */
export function requireStore(path: string): void {
  if (!holdsStore(resolve(path)))
    throw new Error(`${noStore(path)}: find the right directory, or restore a backup into this one`)
}

export function readMarker(directory: string): Marker | undefined {
  let text: string
  try {
    text = readFileSync(join(directory, MARKER_FILE), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  const marker = parseMarker(text)
  if (marker.format !== FORMAT) throw new Error(otherFormat(join(directory, MARKER_FILE), marker.format))
  return marker
}

/** Refuses a store of another deployment. @throws Error of one sentence, with both names */
export function refuseForeign(marker: Marker | undefined, deployment: string | undefined): void {
  if (marker === undefined || marker.deployment === deployment) return
  const named = (name: string | undefined): string => (name === undefined ? 'has no name' : `is \`${name}\``)
  throw new Error(
    `the store belongs to another deployment: its deployment ${named(marker.deployment)}, and that of this command ${named(deployment)} (COUNTERSIGN_DEPLOYMENT); name the right one, or another directory. To move a store to another name, export it and restore it under that name`,
  )
}

export function writeMarker(directory: string, marker: Omit<Marker, 'format'>): void {
  const file = join(directory, MARKER_FILE)
  writeFileSync(`${file}.new`, `${JSON.stringify({ format: FORMAT, ...marker })}\n`, {
    mode: 0o600,
    flush: true,
  })
  handOver(directory, `${MARKER_FILE}.new`)
  renameSync(`${file}.new`, file)
  syncDirectory(directory)
}

/**
 * Inspects the data file before LMDB maps it, because access to a mapped page beyond the end of a file kills the
 * process.
 *
 * @throws Error when the header is damaged or the data of an existing store is missing
 */
export function inspectDataFile(directory: string, exists: boolean): DataFile {
  const size = withFile(join(directory, DATA_FILE), (descriptor) => fstatSync(descriptor).size) ?? 0
  if (size === 0 && !exists) return 'absent'
  if (size === 0)
    throw new Error(
      `${DATA_FILE} is missing or empty, but this directory held a store: restore it from a backup`,
    )
  return size < usedBytes(join(directory, DATA_FILE)) ? 'short' : 'whole'
}

/**
 * Watches the open data file. When the directory is removed or restored from a copy, the open file no longer has a
 * name. The file's data is still synced, but is lost when this process ends.
 */
export function watchDataFile(directory: string): () => string | undefined {
  const file = join(directory, DATA_FILE)
  const opened = identityOf(file)
  return () => {
    try {
      const there = identityOf(file)
      if (there === opened) return undefined
      const what = there === undefined ? 'was removed' : 'was replaced'
      return `${DATA_FILE} ${what} while it was open: repair it, and restart`
    } catch (error) {
      return `the disk does not respond: ${String(error)}`
    }
  }
}

function identityOf(file: string): string | undefined {
  const facts = statSync(file, { bigint: true, throwIfNoEntry: false })
  return facts && `${facts.dev} ${facts.ino}`
}

/** Extends a short file with zeros, so that the store can report an error when it reads the missing part. */
export function extendDataFile(directory: string): void {
  const file = join(directory, DATA_FILE)
  const size = usedBytes(file)
  const descriptor = openSync(file, 'r+')
  ftruncateSync(descriptor, size)
  closeSync(descriptor)
}

/** The identity of the data file with the number of its last commit. It differs after each commit, by any process. */
export function stateOfDataFile(directory: string): string {
  const file = join(directory, DATA_FILE)
  return `${identityOf(file)} ${newestMeta(file).readBigUInt64LE(META.batches)}`
}

/** Bytes up to the last page that one of the meta records references. */
function usedBytes(file: string): number {
  const newest = newestMeta(file)
  return (Number(newest.readBigUInt64LE(META.lastPage)) + 1) * newest.readUInt32LE(META.pageSize)
}

function newestMeta(file: string): Buffer {
  const first = readMeta(file, 0)
  const second = readMeta(file, first.readUInt32LE(META.pageSize))
  return second.readBigUInt64LE(META.batches) > first.readBigUInt64LE(META.batches) ? second : first
}

function readMeta(file: string, offset: number): Buffer {
  const meta = Buffer.alloc(META_BYTES)
  const read = withFile(file, (descriptor) => readSync(descriptor, meta, 0, META_BYTES, offset))
  if (read !== META_BYTES || meta.readUInt32LE(META.magic) !== MAGIC)
    throw new Error(`${DATA_FILE} is damaged at byte ${offset}: restore it from a backup`)
  return meta
}

/** Undefined when the file does not exist. */
function withFile<T>(file: string, use: (descriptor: number) => T): T | undefined {
  let descriptor: number
  try {
    descriptor = openSync(file, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    return use(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function parseMarker(text: string): Marker {
  try {
    const marker = JSON.parse(text) as Partial<Marker>
    const { format, store, deployment } = marker
    const isName = deployment === undefined || typeof deployment === 'string'
    const isMark = typeof format === 'string' || typeof format === 'number'
    if (isMark && typeof store === 'string' && isName) return { ...marker, format: `${format}`, store }
  } catch {
    // reports this file like a marker without its fields
  }
  throw new Error(`${MARKER_FILE} is damaged: restore it from a backup`)
}

export function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
