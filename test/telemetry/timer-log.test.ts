import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../src/contract/errors.ts'
import { timerNotes } from '../../src/telemetry/log/timer-log.ts'

describe('the log of the timer', () => {
  const said: unknown[] = []
  const rounds: boolean[] = []
  const note = (...parts: unknown[]): void => void said.push(parts.at(-1))
  const notes = timerNotes({ info: note, error: note } as never, (ok) => void rounds.push(ok))
  const unavailable = new GatewayError('store_unavailable', 'away', { cause: new Error('refused') })

  it('names an unavailable store once, and once more when it is back', () => {
    for (let i = 0; i < 3; i++) notes.onError(unavailable)
    notes.onDone()
    notes.onDone()
    notes.onError(unavailable)
    expect(said.splice(0)).toEqual([
      'the store cannot answer',
      'the store answers again',
      'the store cannot answer',
    ])
    expect(rounds.splice(0)).toEqual([false, false, false, true, true, false])
  })

  it('names every other failure, though not each time', () => {
    for (const message of ['x', 'x', 'y']) notes.onError(new Error(message))
    expect(said).toHaveLength(2)
    expect(said[0]).toContain('a round of the timer failed')
    expect(rounds.splice(0)).toEqual([false, false, false])
  })
})
