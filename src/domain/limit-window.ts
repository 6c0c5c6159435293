/**
 * Charges to one limit, in buckets of a 24th of its window (S18). A bucket counts in full until it lies completely
 * outside the window. A window therefore counts at least its charges, and each charge for at most a 24th of the
 * window's length too long.
 */
export interface LimitWindow {
  /** Length of a bucket, ms. */
  readonly width: number
  /** Amounts by bucket number, which is the time since 1970 divided by the width. All amounts are above 0. */
  readonly buckets: ReadonlyMap<number, number>
}

const BUCKETS = 24

/**
 * A share of a limited amount is at most so many times the rest. One holder gets at most three quarters, and each
 * further holder at most three quarters of the rest, so that some always remains.
 */
export const TIMES_WHAT_IS_LEFT = 3

/** A charge to a limit, as in a commit. */
export interface WindowCharge {
  readonly windowMs: number
  /** ms since 1970. */
  readonly at: number
  readonly amount: number
}

/** The sum of the window that ends at `now`, capped at the largest safe integer. */
export function amountIn(window: LimitWindow | undefined, windowMs: number, now: number): number {
  if (window === undefined) return 0
  const { width, buckets } = fitted(window, windowMs)
  const oldest = oldestBucket(width, windowMs, now)
  let sum = 0
  for (const [number, amount] of buckets) if (number >= oldest) sum += amount
  return Math.min(sum, Number.MAX_SAFE_INTEGER)
}

/** The window with the charge in its bucket, without expired buckets. Returns undefined when no bucket remains. */
export function charged(
  window: LimitWindow | undefined,
  { windowMs, at, amount }: WindowCharge,
  now: number,
): LimitWindow | undefined {
  const width = widthOf(windowMs)
  const oldest = oldestBucket(width, windowMs, now)
  const buckets = new Map<number, number>()
  for (const [number, held] of window === undefined ? [] : fitted(window, windowMs).buckets)
    if (number >= oldest) buckets.set(number, held)
  const number = Math.floor(at / width)
  if (number >= oldest) {
    const held = Math.min((buckets.get(number) ?? 0) + amount, Number.MAX_SAFE_INTEGER)
    if (held > 0) buckets.set(number, held)
    else buckets.delete(number)
  }
  return buckets.size === 0 ? undefined : { width, buckets }
}

/** The time, in ms, that the window reaches into the past; 0 without charges. */
export function spanOf(window: LimitWindow | undefined): number {
  return window === undefined ? 0 : window.width * BUCKETS
}

export function encodeWindow({ width, buckets }: LimitWindow): string {
  return JSON.stringify([width, ...buckets])
}

export function decodeWindow(text: string): LimitWindow {
  const [width, ...buckets] = JSON.parse(text) as [number, ...[number, number][]]
  return { width, buckets: new Map(buckets) }
}

function widthOf(windowMs: number): number {
  return Math.ceil(windowMs / BUCKETS)
}

function oldestBucket(width: number, windowMs: number, now: number): number {
  return Math.floor((now - windowMs) / width)
}

/**
 * Moves each bucket into the bucket of the new window that contains its last moment, so that no charge expires too
 * early.
 */
function fitted(window: LimitWindow, windowMs: number): LimitWindow {
  const width = widthOf(windowMs)
  if (window.width === width) return window
  const buckets = new Map<number, number>()
  for (const [number, amount] of window.buckets) {
    const last = Math.floor(((number + 1) * window.width - 1) / width)
    buckets.set(last, Math.min((buckets.get(last) ?? 0) + amount, Number.MAX_SAFE_INTEGER))
  }
  return { width, buckets }
}
