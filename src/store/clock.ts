/** Sources of time; injectable for tests. Both in ms. `monotonic` starts at an arbitrary value but never jumps. */
export interface ClockSources {
  wall(): number
  monotonic(): number
  /** True to follow a large jump only after a second look (JUMP_MS). */
  readonly holdsJumps?: boolean
}

export interface Clock {
  /** Whole ms since 1970; never decreases (S12). */
  now(): number
  /** ms by which the wall clock has jumped forward, while the jump is not confirmed; otherwise undefined. */
  jumpMs(): number | undefined
}

/** A longer jump forward may be a mistake, and time that was recorded once never runs backwards. */
const JUMP_MS = 60_000
/**
 * A jump is real when the wall clock then runs with the monotonic clock for this time. The estimate of a server's clock
 * remembers a minute (redis/clock-offset.ts), so a shorter time would not show that the server's clock was set right.
 */
const CONFIRM_MS = 90_000
/** The difference of two looks at the same jump. */
const STEADY_MS = 1_000

/** The reason for which nothing is decided while a jump is not confirmed. */
export const jumpReason = (ms: number): string =>
  `the clock jumped ${Math.round(ms / 1_000)} s ahead: it is followed if it still shows this time after ${CONFIRM_MS / 1_000} s`

export const systemClock: ClockSources = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  holdsJumps: true,
}

/** Decides whether a clock follows its source, which is `ahead` of it now. */
interface Holder {
  follows(ahead: number, monotonic: number): boolean
  jumpMs(): number | undefined
}

function createHolder({ holdsJumps = false }: ClockSources): Holder {
  let jump: { readonly ahead: number; readonly since: number } | undefined
  return {
    follows(ahead, monotonic) {
      if (!holdsJumps || ahead <= JUMP_MS) {
        jump = undefined
        return true
      }
      if (jump === undefined || Math.abs(ahead - jump.ahead) > STEADY_MS) jump = { ahead, since: monotonic }
      if (monotonic - jump.since < CONFIRM_MS) return false
      jump = undefined
      return true
    },
    jumpMs: () => jump?.ahead,
  }
}

/**
 * Creates a clock that starts at the later of the wall clock and `floor`, the last time that an earlier process stored.
 * After the start, the clock follows the monotonic clock. When the wall clock jumps forward, this clock follows,
 * because early expiry is the safe choice. A jump of more than a minute is held, and nothing is decided meanwhile.
 * When the wall clock is set back, this clock continues unchanged, so records still expire on time (S12).
 */
export function createClock(floor: number, sources: ClockSources = systemClock): Clock {
  const holder = createHolder(sources)
  let base = Math.max(sources.wall(), floor)
  let started = sources.monotonic()
  return {
    now() {
      const monotonic = sources.monotonic()
      const wall = sources.wall()
      const current = base + (monotonic - started)
      if (!holder.follows(wall - current, monotonic) || wall <= current) return Math.floor(current)
      base = wall
      started = monotonic
      return Math.floor(wall)
    },
    jumpMs: () => holder.jumpMs(),
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
  const holder = createHolder(sources)
  let current = sources.wall()
  let read = sources.monotonic()
  return {
    now() {
      const monotonic = sources.monotonic()
      const wall = sources.wall()
      const passed = monotonic - read
      read = monotonic
      // while a jump is held, this clock runs on at full speed
      if (holder.follows(wall - current - passed, monotonic))
        current = Math.max(wall, current + passed * PACE_AHEAD)
      else current += passed
      return Math.floor(current)
    },
    jumpMs: () => holder.jumpMs(),
  }
}
