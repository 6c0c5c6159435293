import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startProcess } from '../crash.ts'
import { until } from '../fault/gateway.ts'
import { freePort } from '../ports.ts'
import { execFileSync } from '../sync-child.ts'

const MAIN = fileURLToPath(new URL('../../dist/bin/main.js', import.meta.url))
const STARTER = fileURLToPath(new URL('../../policies', import.meta.url))

describe('a gateway whose log nobody reads any more', () => {
  it('ends when it is asked to, after everything is closed, and the next one has its store', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'cs-unread-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const pipe = join(directory, 'pipe')
    execFileSync('mkfifo', [pipe])
    // open for both: it has a reader, who reads nothing
    const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
    onTestFinished(() => closeSync(reader))
    expect(() => {
      for (;;) writeSync(reader, 'x'.repeat(4_096))
    }).toThrow('EAGAIN')
    const port = String(await freePort())
    const store = ['--store', `file:${join(directory, 'store')}`]
    const settings = ['serve', ...store, '--policies', STARTER, '--port', port, '--metrics-port', '0']
    const through = ['sh', '-c', 'pipe=$1; shift; exec "$@" >"$pipe"', 'sh', pipe]

    const gateway = startProcess(MAIN, settings, { through })
    await until(async () => (await fetch(`http://127.0.0.1:${port}/livez`)).ok)
    expect(await gateway.kill('SIGTERM')).toMatchObject({ code: 0 })

    const next = startProcess(MAIN, settings)
    await next.lineWhere((line) => line.includes('listening'))
    expect(await next.kill('SIGTERM')).toMatchObject({ code: 0 })
  })
})

describe('a gateway whose log cannot be written', () => {
  it('says so once, answers all the same, and ends as it should', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'cs-unread-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const port = String(await freePort())
    const store = ['--store', `file:${join(directory, 'store')}`]
    const settings = ['serve', ...store, '--policies', STARTER, '--port', port, '--metrics-port', '0']
    const through = ['sh', '-c', 'exec "$@" >/dev/full', 'sh']

    const gateway = startProcess(MAIN, settings, { through })
    // one that hangs is deaf to all else
    onTestFinished(() => void gateway.kill('SIGKILL'))
    await until(async () => (await fetch(`http://127.0.0.1:${port}/livez`)).ok)
    const { code, errors } = await gateway.kill('SIGTERM')
    expect(code).toBe(0)
    expect(errors.match(/the log cannot be written, and is kept until it can: ENOSPC/g)).toHaveLength(1)
  })
})
