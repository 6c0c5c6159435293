import { beforeEach, describe, expect, it } from 'vitest'
import { throttled } from '../../src/telemetry/log/throttle.ts'

describe('a failure that repeats', () => {
  let now = 0
  let said: [string, number][] = []
  let tell: (error: unknown) => void

  beforeEach(() => {
    now = 0
    said = []
    tell = throttled(
      (error, suppressed) => void said.push([(error as Error).message, suppressed]),
      () => now,
    )
  })

  it('is reported once a minute, with the number of unreported ones', () => {
    for (; now < 120_000; now += 500) tell(new Error('x'))
    expect(said).toEqual([
      ['x', 0],
      ['x', 119],
    ])
    tell(new Error('x'))
    expect(said.at(-1)).toEqual(['x', 119])
  })

  it('is reported at once when it contains another failure', () => {
    for (const message of ['x', 'y', 'x', 'y']) tell(new Error(message))
    expect(said).toEqual([
      ['x', 0],
      ['y', 0],
    ])
  })

  it('is reported each time when it always differs, and is not remembered forever', () => {
    for (let i = 0; i < 101; i++) tell(new Error(`${i}`))
    expect(said).toHaveLength(101)
    tell(new Error('0'))
    expect(said.at(-1)).toEqual(['0', 0])
  })
})
