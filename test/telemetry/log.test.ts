import { Writable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createLog, logEvidence } from '../../src/telemetry/log.ts'

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
