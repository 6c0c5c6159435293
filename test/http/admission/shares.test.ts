import { describe, expect, it } from 'vitest'
import { createShares, type Shares } from '../../../src/http/admission/shares.ts'

const takeAll = (shares: Shares, name: string): number => {
  let count = 0
  while (shares.take(name, 1)) count += 1
  return count
}

describe('shares of a bounded amount', () => {
  it('one name alone gets three quarters; each further name gets three quarters of the rest', () => {
    const shares = createShares(64)
    expect(['a', 'b', 'c'].map((name) => takeAll(shares, name))).toEqual([48, 12, 3])
    expect(shares.held()).toBe(63)
  })

  it('a returned amount can be taken again, by any name', () => {
    const shares = createShares(64)
    takeAll(shares, 'a')
    shares.free('a', 40)
    expect(shares.held()).toBe(8)
    expect(takeAll(shares, 'b')).toBe(42)
  })

  it('an amount that is too large is not granted in part', () => {
    const shares = createShares(100)
    expect([shares.take('a', 76), shares.take('a', 75), shares.take('b', 1)]).toEqual([false, true, true])
    expect(shares.held()).toBe(76)
  })
})
