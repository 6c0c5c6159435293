import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { usage } from './failure.ts'

/** The bytes of a file, or of standard input for `-`. @throws CliFailure */
export async function inputOf(file: string): Promise<Buffer> {
  try {
    return file === '-' ? await buffer(process.stdin) : await readFile(file)
  } catch (cause) {
    throw usage(`cannot read \`${file}\`: ${(cause as Error).message}`)
  }
}
