import { createReadStream, readFileSync } from 'node:fs'
import { CliFailure } from '../terminal/failure.ts'

/**
 * Reads a stored key, checkpoint or proof.
 *
 * @throws CliFailure
 */
export function keptText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw unreadable(file, error)
  }
}

/**
 * Reads an export, which may be larger than memory.
 *
 * @throws CliFailure
 */
export async function* exported(file: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(file) as AsyncIterable<Uint8Array>
  } catch (error) {
    throw unreadable(file, error)
  }
}

function unreadable(file: string, error: unknown): CliFailure {
  return new CliFailure(`\`${file}\` cannot be read: ${(error as Error).message}`, { cause: error })
}
