/** Sources of time; injectable for tests. Both in ms. `monotonic` starts at an arbitrary value but never jumps. */
export interface ClockSources {
  wall(): number
  monotonic(): number
}

export interface Clock {
  /** Whole ms since 1970; never decreases (S12). */
  now(): number
}

export const systemClock: ClockSources = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
}

/**
 * Creates a clock that starts at the later of the wall clock and `floor`, the last time that an earlier process stored.
 * After the start, the clock follows the monotonic clock. When the wall clock jumps forward, this clock follows,
 * because early expiry is the safe choice. When the wall clock is set back, this clock continues unchanged, so records
 * still expire on time (S12).
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

/** The speed of the clock while it is ahead. */
const PACE_AHEAD = 0.5

/**
 * Creates a clock that follows a server's clock. While the server's clock is behind (after a step back, a slew or a
 * failover), this clock runs at half speed. The following clock therefore never runs backwards (S12), no wait hangs,
 * and gateways that share a server converge.
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
