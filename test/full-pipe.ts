import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { execFileSync } from './sync-child.ts'

/** What runs a script for `startProcess` so that its standard output is a full pipe whose reader, until the end of the test, reads nothing. */
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
