import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdtemp, open, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { sync } from '../system/sync.ts'
import type { Sink, Written } from './write.ts'

/**
 * Lets `write` fill a file that receives its name once it is complete and on disk. A named backup is therefore always
 * complete. Only the owner can read the backup, because it contains secrets.
 *
 * @param signal ends the writing with the signal's reason, and removes the file
 */
export async function writeFileWhole(
  path: string,
  write: (sink: Sink) => Promise<Written>,
  signal?: AbortSignal,
): Promise<Written> {
  // the name has no process id, because a container reuses it and the file of a killed export would block all later
  // exports
  const partial = join(dirname(path), `.${basename(path)}.${randomUUID()}`)
  const file = await open(partial, 'wx', 0o600)
  try {
    const written = await write(new FileSink(file, signal))
    await file.sync()
    await file.close()
    await rename(partial, path)
    await sync(dirname(path))
    return written
  } catch (error) {
    await file.close().catch(() => undefined)
    await rm(partial, { force: true })
    throw error
  }
}

/**
 * Lets `write` fill a nameless file and yields its complete content. The file disappears with this process, regardless
 * of how the process ends.
 */
export async function* writeNameless(write: (sink: Sink) => Promise<void>): AsyncGenerator<Uint8Array, void> {
  const file = await openNameless().catch(noRoom)
  try {
    await write(new FileSink(file)).catch(noRoom)
    yield* file.createReadStream({ start: 0, autoClose: false }) as AsyncIterable<Uint8Array>
  } finally {
    await file.close()
  }
}

const OF_THE_FILE = ['mkdtemp', 'open', 'write']

/**
 * Explains the error, because the file has no name that the system could report and the operator chose no directory.
 */
function noRoom(error: unknown): never {
  if (!OF_THE_FILE.includes((error as NodeJS.ErrnoException).syscall ?? '')) throw error
  throw new Error(
    `it is kept in ${tmpdir()} until it is complete (TMPDIR names another place): ${(error as Error).message}`,
    { cause: error },
  )
}

async function openNameless(): Promise<FileHandle> {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-export-'))
  try {
    return await open(join(directory, 'backup'), 'wx+', 0o600)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

class FileSink implements Sink {
  readonly #file: FileHandle
  readonly #signal: AbortSignal | undefined
  #position = 0

  constructor(file: FileHandle, signal?: AbortSignal) {
    this.#file = file
    this.#signal = signal
  }

  position(): number {
    return this.#position
  }

  async write(text: string): Promise<void> {
    this.#signal?.throwIfAborted()
    const bytes = Buffer.from(text)
    for (let done = 0; done < bytes.length;) {
      const { bytesWritten } = await this.#file.write(bytes, done, bytes.length - done, this.#position)
      done += bytesWritten
      this.#position += bytesWritten
    }
  }

  async rewind(position: number): Promise<void> {
    await this.#file.truncate(position)
    this.#position = position
  }
}
