import { describe, expect, it } from 'vitest'
import { createShares, type Shares } from '../../src/http/admission/shares.ts'

const takeAll = (shares: Shares, name: string): number => {
  let count = 0
  while (shares.take(name, 1)) count += 1
  return count
}

describe('shares of a bounded amount', () => {
  it('a name that is alone gets three quarters; each one that follows gets three quarters of the rest', () => {
    const shares = createShares(64)
    expect(['a', 'b', 'c'].map((name) => takeAll(shares, name))).toEqual([48, 12, 3])
    expect(shares.held()).toBe(63)
  })

  it('what is given back can be taken again, by anybody', () => {
    const shares = createShares(64)
    takeAll(shares, 'a')
    shares.free('a', 40)
    expect(shares.held()).toBe(8)
    expect(takeAll(shares, 'b')).toBe(42)
  })

  it('an amount that would be too much is not taken in part', () => {
    const shares = createShares(100)
    expect([shares.take('a', 76), shares.take('a', 75), shares.take('b', 1)]).toEqual([false, true, true])
    expect(shares.held()).toBe(76)
  })
})
