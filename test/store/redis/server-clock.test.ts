import { describe, expect, it } from 'vitest'
import type { Peer } from '../../../src/store/redis/connection.ts'
import { createServerClock } from '../../../src/store/redis/server-clock.ts'
import type { Topology } from '../../../src/store/redis/topology.ts'

describe('the time of a store on several servers', () => {
  const clockOf = (offsets: (number | undefined)[]): { now(): number } =>
    createServerClock(
      { peers: () => offsets.map((offset) => ({ clockOffset: () => offset }) as Peer) } as Topology,
      undefined,
    )

  it('is the latest of their times, and stays the same when no server answers', () => {
    const offsets = [1_000_000, undefined, 2_000_000]
    const clock = clockOf(offsets)
    const apart = clock.now() - performance.now()
    expect(Math.round(apart / 1_000)).toBe(2_000)
    offsets.fill(undefined)
    expect(Math.round((clock.now() - performance.now()) / 1_000)).toBe(2_000)
  })
})
