import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ignoresHangUp } from '../../src/cli/terminal/signals.ts'
import { inDirectory, startGateway } from '../fault/gateway.ts'
import { startProcess } from '../crash.ts'

const SERVE = new URL('../../dist/cli/operate/serve.js', import.meta.url)

/** Prints when it listens for signals and when a signal asks it to stop; then it keeps running. */
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

it('SIGHUP ends a gateway only for a terminal whose end the parent does not ignore', () => {
  const parent = (mask: string) => () =>
    `Name:\tsh\nSigBlk:\t0000000000000000\nSigIgn:\t${mask}\nSigCgt:\t0\n`
  expect(ignoresHangUp(true, parent('0000000000001006'))).toBe(false)
  expect(ignoresHangUp(true, parent('0000000000001007'))).toBe(true)
  expect(ignoresHangUp(false, parent('0000000000000000'))).toBe(true)
  const gone = (): string => {
    throw new Error('ENOENT')
  }
  expect(ignoresHangUp(true, gone)).toBe(false)
})

it('a gateway under nohup serves on after SIGHUP, and stops on SIGTERM', async () => {
  await inDirectory(async (directory) => {
    const gateway = await startGateway({ directory, through: ['nohup'] })
    process.kill(gateway.process.pid, 'SIGHUP')
    await gateway.key('agent', 'demo-agent')
    expect((await gateway.ask({ path: '/readyz' })).status).toBe(200)
    gateway.hangUp()
    expect((await gateway.process.kill('SIGTERM')).code).toBe(0)
  })
})
