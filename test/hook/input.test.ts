import { describe, expect, it } from 'vitest'
import { inputOf } from '../../src/hook/input.ts'

const never = new AbortController().signal

/** Says how much of it was read. */
function source(count: number): AsyncIterable<Uint8Array> & { read: number } {
  return {
    read: 0,
    async *[Symbol.asyncIterator]() {
      for (let i = 0; i < count; i++) {
        this.read++
        yield await Promise.resolve(Buffer.from('ab'))
      }
    },
  }
}

describe('the input', () => {
  it('is read whole, up to the bound', async () => {
    expect(String(await inputOf(source(3), 6, never))).toBe('ababab')
    expect(await inputOf(source(0), 6, never)).toHaveLength(0)
  })

  it('is refused beyond the bound, but still read to its end', async () => {
    const endless = source(1_000)
    await expect(inputOf(endless, 5, never)).rejects.toMatchObject({ code: 'invalid_payload' })
    expect(endless.read).toBe(1_000)
  })

  it('ends with the signal when it does not end itself', async () => {
    const stop = new AbortController()
    const silent = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) }
    const asked = inputOf(silent, 5, stop.signal)
    stop.abort()
    await expect(asked).rejects.toMatchObject({ code: 'aborted' })
    await expect(inputOf(silent, 5, stop.signal)).rejects.toMatchObject({ code: 'aborted' })
  })

  it('counts as missing when it cannot be read', async () => {
    const broken = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('EISDIR')) }) }
    await expect(inputOf(broken, 5, never)).rejects.toThrow('EISDIR')
  })
})
