import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { breakable } from '../../src/cli/terminal/cancellable.ts'

const signals = new EventEmitter()
const aborted = (): Error => Object.assign(new Error('a stream was closed'), { name: 'AbortError' })

/** Until it is told to stop, and then as a stream that is read to its end. */
const reading = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(aborted()), { once: true })
    signals.emit('SIGTERM', 'SIGTERM')
  })

describe('a command that a signal can break off', () => {
  it('says by what it was, also where only a stream has heard of it', async () => {
    await expect(breakable('the export', reading, signals)).rejects.toThrow(
      'the export was broken off by SIGTERM: nothing of it is left',
    )
  })

  it('leaves a second signal, of whatever name, to end it at once', async () => {
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

  it('says what went wrong by itself, whatever that is called', async () => {
    await expect(breakable('the export', () => Promise.reject(aborted()), signals)).rejects.toThrow(
      'a stream was closed',
    )
  })

  it('hears nothing any more when it is over, and yields what it made', async () => {
    const heard = (): number => signals.listenerCount('SIGTERM')
    expect(await breakable('the export', () => Promise.resolve(heard()), signals)).toBe(1)
    expect(heard()).toBe(0)
  })
})
