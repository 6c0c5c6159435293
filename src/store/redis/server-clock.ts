import { type Clock, type ClockSources, createClock, createFollower } from '../clock.ts'
import type { Topology } from './topology.ts'

/** Creates the clock that follows the servers, or a clock from the injected sources. */
export function createServerClock(topology: Topology, given: ClockSources | undefined): Clock {
  if (given !== undefined) return createClock(0, given)
  let last = Date.now() - performance.now()
  /**
   * The latest of the servers' clocks, because early expiry is the safe choice. The estimates are cached, because a
   * request reads the time several times.
   */
  const offset = (): number => {
    let latest: number | undefined
    for (const peer of topology.peers()) {
      const one = peer.clockOffset()
      if (one !== undefined && (latest === undefined || one > latest)) latest = one
    }
    if (latest !== undefined) last = latest
    return last
  }
  return createFollower({
    wall: () => performance.now() + offset(),
    monotonic: () => performance.now(),
    holdsJumps: true,
  })
}
