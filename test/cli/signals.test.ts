import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startProcess } from '../crash.ts'

const SERVE = new URL('../../dist/cli/operate/serve.js', import.meta.url)

/** Says when it listens for signals, and when it was asked to stop; then it goes on. */
const SCRIPT = `import { untilAskedToStop } from '${SERVE.href}'
const asked = untilAskedToStop()
setInterval(() => {}, 1_000)
console.log('listens')
await asked
console.log('asked')
`

it.each([
  ['SIGTERM', 'SIGTERM'],
  ['SIGTERM', 'SIGINT'],
  ['SIGINT', 'SIGTERM'],
  ['SIGTERM', 'SIGHUP'],
  ['SIGHUP', 'SIGHUP'],
] as const)(
  '%s stops a gateway gracefully, and %s after it ends the gateway at once',
  async (first, second) => {
    const directory = mkdtempSync(join(tmpdir(), 'cs-signals-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const script = join(directory, 'script.mjs')
    writeFileSync(script, SCRIPT)
    const child = startProcess(script)
    await child.lineWhere((line) => line === 'listens')
    const ended = child.kill(first)
    await child.lineWhere((line) => line === 'asked')
    void child.kill(second)
    expect((await ended).signal).toBe(second)
  },
)
