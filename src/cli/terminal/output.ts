import { pipeline } from 'node:stream/promises'
import { CliFailure } from './failure.ts'

/**
 * Writes bytes to standard output as fast as they are taken.
 *
 * @throws CliFailure when they are not taken any more: the disk is full, or, as behind `head`, nobody reads on. What `source` throws
 */
export async function writeOut(source: AsyncIterable<Uint8Array>): Promise<void> {
  let fault: unknown
  // what the source cannot write, a file of its own, is not what nobody takes
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
