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
