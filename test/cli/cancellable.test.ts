import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { breakable } from '../../src/cli/terminal/cancellable.ts'

const signals = new EventEmitter()
const aborted = (): Error => Object.assign(new Error('a stream was closed'), { name: 'AbortError' })

/** Sends SIGTERM, and fails as a closed stream does when the signal aborts it. */
const reading = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(aborted()), { once: true })
    signals.emit('SIGTERM', 'SIGTERM')
  })

describe('a command that a signal can interrupt', () => {
  it('names the signal, even when only a stream noticed it', async () => {
    await expect(breakable('the export', reading, signals)).rejects.toThrow(
      'the export was interrupted by SIGTERM: nothing of it remains',
    )
  })

  it('lets any second signal end it at once', async () => {
    let deaf: boolean[] = []
    await breakable(
      'the export',
      async (signal) => {
        await reading(signal).catch(() => undefined)
        deaf = ['SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => signals.listenerCount(name) === 0)
      },
      signals,
    )
    expect(deaf).toEqual([true, true, true])
  })

  it('reports its own failure, whatever the name of the error', async () => {
    await expect(breakable('the export', () => Promise.reject(aborted()), signals)).rejects.toThrow(
      'a stream was closed',
    )
  })

  it('ignores signals when it has ended, and returns its result', async () => {
    const heard = (): number => signals.listenerCount('SIGTERM')
    expect(await breakable('the export', () => Promise.resolve(heard()), signals)).toBe(1)
    expect(heard()).toBe(0)
  })
})
