import { createHash, randomUUID } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { link, open, readdir, rename, rmdir, stat, unlink } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { makeDirectory } from '../../system/make-directory.ts'
import { sync } from '../../system/sync.ts'
import { MOST_BUNDLE_BYTES } from '../bundle.ts'
import { isPacked, type Place, PlaceUnavailable, type StoredFile } from '../place.ts'

/** Only the owner may read evidence. */
const MODES = { file: 0o600, directory: 0o700 } as const
/** The folder of files without a name yet. */
const UNNAMED = '.new'
/** The age at which no writer can still need a file without a name, ms. */
const ABANDONED_MS = 24 * 3_600_000
const PACKED = '.gz'

/**
 * Files of one log in a directory. A file gets its name once its bytes are on disk (`link`, which fails if the name
 * exists), and its directory is synced after that. A compressed file has the ending `.gz`.
 */
export function directoryPlace(path: string): Place {
  return new DirectoryPlace(resolve(path), path)
}

class DirectoryPlace implements Place {
  readonly name: string
  readonly #root: string
  /** Directories that this process synced into their parents. An earlier process may have died before that. */
  readonly #synced = new Set<string>()

  constructor(root: string, name: string) {
    this.#root = root
    this.name = `\`${name}\``
  }

  async read(path: string): Promise<StoredFile | undefined> {
    try {
      const bytes = await readRegular(this.#fileOf(path))
      return { bytes, version: versionOf(bytes) }
    } catch (error) {
      if (isMissing(error)) return undefined
      throw this.#unavailable(error)
    }
  }

  create(path: string, stored: Uint8Array): Promise<boolean> {
    return this.#do(async () => {
      const file = this.#fileOf(path)
      const unnamed = await this.#unnamed(stored)
      try {
        await this.#prepare(dirname(file))
        return await this.#link(unnamed, file)
      } finally {
        await discard(unnamed)
      }
    })
  }

  async replace(path: string, stored: Uint8Array, version: string | undefined): Promise<boolean> {
    if (version === undefined) return this.create(path, stored)
    return this.#do(async () => {
      const file = this.#fileOf(path)
      const unnamed = await this.#unnamed(stored)
      try {
        if ((await this.read(path))?.version !== version) return false
        await rename(unnamed, file)
        await sync(dirname(file))
        return true
      } finally {
        await discard(unnamed)
      }
    })
  }

  list(folder: string): Promise<string[]> {
    return this.#do(async () => {
      const at = join(this.#root, folder)
      const entries = await readdir(at, { recursive: true, withFileTypes: true }).catch(ifMissing([]))
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) => relative(this.#root, join(entry.parentPath, entry.name)))
        .map((name) => (name.endsWith(PACKED) ? name.slice(0, -PACKED.length) : name))
        .sort()
    })
  }

  remove(path: string): Promise<void> {
    return this.#do(async () => {
      await discard(this.#fileOf(path))
      // the folder of partial tiles ends with the last of them
      const folder = dirname(this.#fileOf(path))
      await rmdir(folder).then(
        () => this.#synced.delete(folder),
        () => undefined,
      )
    })
  }

  #fileOf(path: string): string {
    return join(this.#root, isPacked(path) ? `${path}${PACKED}` : path)
  }

  /** Writes and syncs a file that has no name in the log yet. After a failure, it leaves no file. */
  async #unnamed(stored: Uint8Array): Promise<string> {
    const folder = join(this.#root, UNNAMED)
    if (!this.#synced.has(folder)) await this.#beginIn(folder)
    const path = join(folder, randomUUID())
    try {
      await writeSynced(path, stored)
    } catch (error) {
      // a full disk would fill further with each attempt
      await discard(path).catch(() => undefined)
      throw error
    }
    return path
  }

  /** Prepares the folder, and removes what killed writers left in it. */
  async #beginIn(folder: string): Promise<void> {
    await this.#prepare(folder)
    for (const name of await readdir(folder)) {
      const { mtimeMs } = await stat(join(folder, name)).catch(ifMissing({ mtimeMs: Infinity }))
      if (Date.now() - mtimeMs > ABANDONED_MS) await discard(join(folder, name))
    }
  }

  /** Returns false when the name exists. Its bytes are then synced too, because its writer may have been killed. */
  async #link(unnamed: string, file: string): Promise<boolean> {
    let isNew = true
    try {
      await link(unnamed, file)
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
      isNew = false
      await sync(file)
    }
    await sync(dirname(file))
    return isNew
  }

  /** Makes the directory and those above it, each synced into its parent. */
  async #prepare(directory: string): Promise<void> {
    if (this.#synced.has(directory)) return
    const parent = dirname(directory)
    if (directory === this.#root) {
      const top = nearestThere(parent)
      makeDirectory(directory, MODES.directory)
      await syncUpTo(parent, top)
    } else {
      await this.#prepare(parent)
      makeDirectory(directory, MODES.directory)
      await sync(parent)
    }
    this.#synced.add(directory)
  }

  async #do<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw this.#unavailable(error)
    }
  }

  #unavailable(cause: unknown): Error {
    if (cause instanceof PlaceUnavailable) return cause
    return new PlaceUnavailable(`${this.name} cannot be used: ${(cause as Error).message}`, { cause })
  }
}

/**
 * Reads a regular file. A link or a pipe of a foreign directory could have no end, and opening a pipe could wait
 * forever.
 */
async function readRegular(path: string): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const found = await file.stat()
    if (!found.isFile() || found.size > MOST_BUNDLE_BYTES)
      throw new Error(`\`${path}\` is no regular file, or too large`)
    // the file may grow meanwhile
    const bytes = Buffer.alloc(found.size)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = (await file.read(bytes, length, bytes.length - length, length)).bytesRead
    return bytes.subarray(0, length)
  } finally {
    await file.close()
  }
}

/** Deletes a file, if it is there. `rm` looks at it twice before. */
const discard = (path: string): Promise<void> => unlink(path).catch(ifMissing(undefined))

const versionOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** The directory itself if it exists, else the nearest one above it. */
const nearestThere = (directory: string): string =>
  existsSync(directory) ? directory : nearestThere(dirname(directory))

/** Syncs a directory and those above it, up to `top`. A top that this user cannot read existed before. */
async function syncUpTo(directory: string, top: string): Promise<void> {
  if (directory === top)
    return sync(directory).catch((error: unknown) => {
      if (!['EACCES', 'EPERM'].includes(codeOf(error))) throw error
    })
  await sync(directory)
  await syncUpTo(dirname(directory), top)
}

async function writeSynced(path: string, stored: Uint8Array): Promise<void> {
  const file = await open(path, 'wx', MODES.file)
  try {
    await file.writeFile(stored)
    await file.sync()
  } finally {
    await file.close()
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''

const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(codeOf(error))

/** Turns the error for a missing file into a value. */
function ifMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isMissing(error)) return value
    throw error
  }
}
