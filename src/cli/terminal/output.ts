import { pipeline } from 'node:stream/promises'
import { CliFailure } from './failure.ts'

/**
 * Writes bytes to standard output as fast as the reader accepts them.
 *
 * @throws CliFailure when output fails, because the disk is full or the reader has closed the stream, like `head`. The
 * errors of `source` are thrown as well
 */
export async function writeOut(source: AsyncIterable<Uint8Array>): Promise<void> {
  let fault: unknown
  // an error of the source, for example of a file that it reads, is not an error of the output
  const watched = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* source
    } catch (error) {
      fault = error
      throw error
    }
  }
  try {
    await pipeline(watched(), process.stdout, { end: false })
  } catch (error) {
    if (error === fault || (error as NodeJS.ErrnoException).syscall !== 'write') throw error
    throw new CliFailure(`standard output cannot be written: ${(error as Error).message}`, { cause: error })
  }
}
