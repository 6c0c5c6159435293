/** Where time comes from; injectable for tests. Both in ms; `monotonic` counts from anywhere but never jumps. */
export interface ClockSources {
  wall(): number
  monotonic(): number
}

export interface Clock {
  /** Whole ms since 1970. Never goes backwards (S12). */
  now(): number
}

export const systemClock: ClockSources = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
}

/**
 * A clock that starts at the later of the wall clock and `floor` (the last time a former process persisted) and then runs on
 * the monotonic clock. When the wall clock jumps forward it follows, because expiring early is the safe side; when the wall clock
 * is set back it goes on as if nothing had happened, so nothing lives longer than it was granted (S12).
 */
export function createClock(floor: number, sources: ClockSources = systemClock): Clock {
  let base = Math.max(sources.wall(), floor)
  let started = sources.monotonic()
  return {
    now() {
      const monotonic = sources.monotonic()
      const wall = sources.wall()
      const current = base + (monotonic - started)
      if (wall <= current) return Math.floor(current)
      base = wall
      started = monotonic
      return Math.floor(wall)
    },
  }
}

/** How fast it runs while it is ahead. */
const PACE_AHEAD = 0.5

/**
 * A clock that follows the one of a server. While that is behind, because it was set or slewed back or another server took over, this one runs at half pace until they
 * are the same again: it never goes backwards (S12), nothing that waits hangs, and gateways that share a server do not stay apart for as long as they run.
 */
export function createFollower(sources: ClockSources): Clock {
  let current = sources.wall()
  let read = sources.monotonic()
  return {
    now() {
      const monotonic = sources.monotonic()
      current = Math.max(sources.wall(), current + (monotonic - read) * PACE_AHEAD)
      read = monotonic
      return Math.floor(current)
    },
  }
}
