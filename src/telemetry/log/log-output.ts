import { EventEmitter } from 'node:events'
import { write, writeSync } from 'node:fs'

/** Maximum number of characters in lines that are written together. */
const TOGETHER = 16 * 1024
/** Time between two attempts while writing fails, ms. */
const RETRY_MS = 100
/** Time after which a write counts as stuck, ms, because its reader may never return. */
const STUCK_MS = 500
/** Maximum time for a slow reader at the end of a process, ms. */
const LAST_LINES_MS = 1_000
const LAST_TRIES_MS = 10

/**
 * Writes lines to a file descriptor in order, without blocking the event loop. When writing fails, the output keeps the
 * lines and tries again. The disk may be full, the terminal closed, or the pipe without a reader. Callers do not see
 * errors.
 *
 * Events: `drop` for each line without room, `drain` when every line is written, `fault` with the error when writing
 * begins to fail.
 */
export class LogOutput extends EventEmitter {
  readonly #fd: number
  readonly #most: number
  #chunks: string[] = []
  /** The rest of the first chunk. */
  #rest: Uint8Array | undefined
  #waiting = 0
  /** The start of the current write (`performance.now()`). */
  #since: number | undefined
  /** The timer for the next attempt. */
  #pause: NodeJS.Timeout | undefined
  #failing = false

  /** @param most characters that may wait; further lines are dropped */
  constructor(fd: number, most: number) {
    super()
    this.#fd = fd
    this.#most = most
  }

  write(line: string): void {
    if (this.#waiting + line.length > this.#most) {
      this.emit('drop')
      return
    }
    const last = this.#chunks.length - 1
    const open = this.#chunks[last]
    // the first chunk may be in a write
    if (last > 0 && open !== undefined && open.length + line.length <= TOGETHER)
      this.#chunks[last] = open + line
    else this.#chunks.push(line)
    this.#waiting += line.length
    if (this.#since === undefined && this.#pause === undefined) this.#send()
  }

  /** Returns true when the current write has taken so long that the process may never end. */
  isStuck(): boolean {
    return this.#since !== undefined && performance.now() - this.#since > STUCK_MS
  }

  /** Writes the waiting lines at the end of a process. Drops the lines when their reader takes more than a second. */
  flush(): void {
    clearTimeout(this.#pause)
    // the system already has the chunk of the current write
    const isBetween = this.#since === undefined
    const waiting = this.#chunks.splice(isBetween ? 0 : 1)
    const rest = isBetween ? this.#rest : undefined
    if (rest !== undefined) waiting.shift()
    const end = performance.now() + LAST_LINES_MS
    let left = Buffer.concat([rest ?? Buffer.of(), Buffer.from(waiting.join(''))])
    while (left.length > 0 && performance.now() < end) left = left.subarray(writtenNow(this.#fd, left))
  }

  #send(): void {
    this.#pause = undefined
    const rest = (this.#rest ??= Buffer.from(this.#chunks[0] ?? ''))
    this.#since = performance.now()
    write(this.#fd, rest, (error, written) => {
      this.#since = undefined
      if (error) this.#failed(error)
      else this.#wrote(rest.subarray(written))
    })
  }

  #wrote(rest: Uint8Array): void {
    this.#failing = false
    this.#rest = rest
    if (rest.length === 0) {
      this.#rest = undefined
      this.#waiting -= this.#chunks.shift()?.length ?? 0
    }
    if (this.#chunks.length > 0) this.#send()
    else this.emit('drain')
  }

  #failed(error: NodeJS.ErrnoException): void {
    this.#pause = setTimeout(() => this.#send(), RETRY_MS).unref()
    // EAGAIN means a full non-blocking pipe
    if (this.#failing || error.code === 'EAGAIN') return
    this.#failing = true
    this.emit('fault', error)
  }
}

/**
 * Writes bytes. Returns the number of written bytes: 0 for a full pipe, and all bytes when the descriptor fails
 * otherwise.
 */
function writtenNow(fd: number, bytes: Uint8Array): number {
  try {
    return writeSync(fd, bytes)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return bytes.length
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LAST_TRIES_MS)
    return 0
  }
}
