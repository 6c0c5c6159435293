import { once } from 'node:events'
import { constants, createReadStream, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { boundedOutput, createLog, logEvidence } from '../../src/telemetry/log.ts'
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

describe('the log', () => {
  it('that nobody reads keeps so much and no more, and says how many lines are missing', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'cs-log-'))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const pipe = join(directory, 'pipe')
    execFileSync('mkfifo', [pipe])
    // open for both: nobody has to read yet
    const fd = openSync(pipe, constants.O_RDWR)
    const most = 256 * 1024
    const output = boundedOutput(fd, most)
    const log = createLog('info', output)
    const line = 'x'.repeat(1_000)
    for (let i = 0; i < 10_000; i++) log.info(line)

    let text = ''
    const reader = createReadStream(pipe, { encoding: 'utf8' })
    onTestFinished(() => void reader.destroy())
    const told = new Promise<void>((resolve) => {
      reader.on('data', (chunk) => {
        text += String(chunk)
        if (text.includes('lines are missing here') && text.endsWith('\n')) resolve()
      })
    })
    await told
    // a reader of a pipe that somebody may still write to waits for ever, and this process for it
    const closed = once(reader, 'close')
    ;(output as unknown as { end(): void }).end()
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

  it('never prints a secret, wherever a line might carry it', () => {
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

  it('keeps automatic decisions for debug and everything else of evidence for info', () => {
    const { log, text } = capture('info')
    const record = { tenant: 't', at: '', actor: { kind: 'agent', id: 'a' } } as const
    logEvidence(log, { ...record, type: 'decision.allowed' })
    logEvidence(log, { ...record, type: 'vote.cast', details: { comment: 'private words' } })
    expect(text()).not.toContain('decision.allowed')
    expect(text()).toContain('vote.cast')
    expect(text()).not.toContain('private words')
  })
})
