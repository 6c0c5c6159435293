import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { execFileSync } from './sync-child.ts'

/**
 * Returns the command that runs a script for `startProcess` with a full pipe as its standard output. The reader of the
 * pipe reads nothing until the end of the test.
 */
export function throughFullPipe(): string[] {
  const directory = mkdtempSync(join(tmpdir(), 'cs-unread-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const pipe = join(directory, 'pipe')
  execFileSync('mkfifo', [pipe])
  // open for both: it has a reader
  const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
  onTestFinished(() => closeSync(reader))
  const fill = (): void => {
    for (;;) writeSync(reader, 'x'.repeat(4_096))
  }
  try {
    fill()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
  }
  return ['sh', '-c', 'pipe=$1; shift; exec "$@" >"$pipe"', 'sh', pipe]
}
