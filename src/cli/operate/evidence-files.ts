import { createReadStream, readFileSync } from 'node:fs'
import { CliFailure } from '../terminal/failure.ts'

/** A key, a checkpoint or a proof that somebody kept. @throws CliFailure */
export function keptText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw unreadable(file, error)
  }
}

/** An export, which may be larger than memory. @throws CliFailure */
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
