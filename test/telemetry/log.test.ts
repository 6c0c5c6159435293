import { once } from 'node:events'
import {
  closeSync,
  constants,
  createReadStream,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLog, evidenceLog } from '../../src/telemetry/log/log.ts'
import { LogOutput } from '../../src/telemetry/log/log-output.ts'
import { execFileSync } from '../sync-child.ts'

function capture(level: string): { log: ReturnType<typeof createLog>; text: () => string } {
  let text = ''
  const sink = new Writable({
    write(chunk: Buffer, _, done) {
      text += chunk.toString()
      done()
    },
  })
  return { log: createLog(level, sink), text: () => text }
}

function namedPipe(): string {
  const directory = mkdtempSync(join(tmpdir(), 'cs-log-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const pipe = join(directory, 'pipe')
  execFileSync('mkfifo', [pipe])
  return pipe
}

describe('the log', () => {
  it('continues when a reader returns, with every line of the meantime', async () => {
    const pipe = namedPipe()
    const first = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
    const fd = openSync(pipe, 'w')
    const output = new LogOutput(fd, 1_000)
    closeSync(first)
    const fault = once(output, 'fault')
    const lines = ['one\n', 'two\n', 'three\n']
    for (const line of lines) output.write(line)
    expect(await fault).toMatchObject([{ code: 'EPIPE' }])
    const next = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK)
    onTestFinished(() => closeSync(next))
    await once(output, 'drain')
    closeSync(fd)
    const text = Buffer.alloc(100)
    expect(text.toString('utf8', 0, readSync(next, text))).toBe(lines.join(''))
  })

  it('reports a full disk once, disturbs no other part, and ends with the process', async () => {
    const fd = openSync('/dev/full', 'w')
    onTestFinished(() => closeSync(fd))
    const output = new LogOutput(fd, 10)
    const faults: unknown[] = []
    let dropped = 0
    output.on('fault', (error) => faults.push(error)).on('drop', () => (dropped += 1))
    for (const line of ['one\n', 'two\n', 'three\n']) output.write(line)
    await expect.poll(() => faults.length).toBe(1)
    expect(faults).toMatchObject([{ code: 'ENOSPC' }])
    expect(dropped).toBe(1)
    expect(output.isStuck()).toBe(false)
    output.flush()
  })

  it('writes waiting lines at the end of the process, each once', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'cs-log-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const file = join(directory, 'log')
    const fd = openSync(file, 'a')
    onTestFinished(() => closeSync(fd))
    const output = new LogOutput(fd, 1_000)
    for (const line of ['one\n', 'two\n', 'three\n']) output.write(line)
    const drained = once(output, 'drain')
    output.flush()
    await drained
    expect(readFileSync(file, 'utf8').split('\n').sort()).toEqual(['', 'one', 'three', 'two'])
  })

  it('keeps a bounded number of lines without a reader, and counts the missing ones', async () => {
    const pipe = namedPipe()
    // open for both: the pipe needs no reader yet
    const fd = openSync(pipe, constants.O_RDWR)
    const most = 256 * 1024
    const output = new LogOutput(fd, most)
    const log = createLog('info', output)
    const line = 'x'.repeat(1_000)
    for (let i = 0; i < 10_000; i++) log.info(line)

    let text = ''
    const reader = createReadStream(pipe, { encoding: 'utf8' })
    onTestFinished(() => void reader.destroy())
    const logged = new Promise<void>((resolve) => {
      reader.on('data', (chunk) => {
        text += String(chunk)
        if (text.includes('lines are missing here') && text.endsWith('\n')) resolve()
      })
    })
    await logged
    // while the pipe has a writer, its reader waits forever, and keeps this process alive
    const closed = once(reader, 'close')
    closeSync(fd)
    await closed
    const lines = text
      .trimEnd()
      .split('\n')
      .map((one) => JSON.parse(one) as { msg: string; lines?: number })
    const kept = lines.filter(({ msg }) => msg === line).length
    expect(lines.at(-1)).toMatchObject({ level: 'warn', lines: 10_000 - kept })
    expect(text.length).toBeLessThan(2 * most)
    expect(kept).toBeGreaterThan(100)
  })

  it('never prints a secret, wherever a line might contain it', () => {
    const { log, text } = capture('info')
    const canary = 'canary-secret'
    log.info({
      api_key: canary,
      approval_token: canary,
      payload: { canary },
      headers: { authorization: canary },
    })
    log.info({ req: { headers: { authorization: canary } }, thing: { signature: canary, payload: canary } })
    expect(text()).not.toContain(canary)
    expect(text()).toContain('[redacted]')
  })

  it('logs automatic decisions at debug, and all other evidence at info', () => {
    const { log, text } = capture('info')
    const record = { tenant: 't', at: '', actor: { kind: 'agent', id: 'a' } } as const
    const logged = evidenceLog(log)
    const decided = {
      verdict: 'allow',
      risk: 'low',
      policy_risk: 'low',
      policy: 'b',
      by: ['r'],
      rules: ['r'],
    } as const
    logged({ record: { ...record, type: 'decision.allowed', details: decided } })
    const details = { decision: 'approve', digest: 'd', displayed: 'none', via: 'key' } as const
    const disclosed = { comment: 'private words' }
    logged({ record: { ...record, type: 'vote.cast', details, disclosed } })
    expect(text()).not.toContain('decision.allowed')
    expect(text()).toContain('vote.cast')
    expect(text()).not.toContain('private words')
  })
})
