import { describe, expect, it } from 'vitest'
import { createUsedAllows } from '../../packages/sdk/src/idempotency.ts'

const MINUTE = 60_000

describe('allows', () => {
  it('used allows are counted one after another, each once, per action', () => {
    const allows = createUsedAllows(() => 0)
    expect([allows.used('a'), allows.use('a', 0), allows.used('a')]).toEqual([0, true, 1])
    expect([allows.use('a', 0), allows.use('a', 1), allows.used('a')]).toEqual([false, true, 2])
    expect(allows.used('b')).toBe(0)
  })

  it('used allows are remembered longer than the gateway replays them, since the last use, and then forgotten', () => {
    let now = 0
    const allows = createUsedAllows(() => now)
    for (const hash of ['a', 'b']) allows.use(hash, 0)
    now = 11 * MINUTE
    expect(allows.used('a')).toBe(1)
    now = 22 * MINUTE
    expect([allows.used('b'), allows.used('a')]).toEqual([0, 1])
  })
})
