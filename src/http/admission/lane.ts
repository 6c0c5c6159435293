import { createShares } from './shares.ts'

/** Period over which the pace is averaged, ms. The period is longer than the pauses of a store. */
const MEMORY_MS = 1_000
/** Maximum value of `Retry-After`, in seconds. */
const MOST_SECONDS = 15

/** The places for one kind of request, the queue for these places, and its pace. */
export class Lane<T> {
  readonly most: number
  readonly places
  readonly queue = new FairQueue<T>()
  /** The number of refusals since the start. */
  refused = 0
  /** The number of requests that began in this turn of the event loop without waiting. */
  begun = 0
  #freed = 0
  #perMs: number | undefined
  /** The time since which requests have waited, and the time of the last measurement. */
  #since: number | undefined
  #at = 0
  /** Later turns that were promised to refused callers. */
  #promised = 0

  constructor(places: number) {
    this.most = places
    this.places = createShares(places)
  }

  /** Releases a place. */
  free(tenant: string): void {
    this.places.free(tenant, 1)
    this.#freed += 1
  }

  /** Places that become free per ms; undefined without a queue, and while the queue is new. */
  pace(): number | undefined {
    return this.#since !== undefined && this.#at - this.#since >= MEMORY_MS ? this.#perMs : undefined
  }

  /** Updates the pace. Without a queue there is no pace, because places are free when few requests arrive. */
  measure(now: number): void {
    const elapsed = now - this.#at
    const measured = this.#freed / elapsed
    if (this.queue.size === 0) this.#since = this.#perMs = undefined
    else if (this.#since === undefined) this.#since = now
    else
      this.#perMs =
        (this.#perMs ?? measured) +
        (measured - (this.#perMs ?? measured)) * (1 - Math.exp(-elapsed / MEMORY_MS))
    this.#promised = Math.max(0, this.#promised - this.#freed)
    this.#freed = 0
    this.#at = now
  }

  /**
   * Counts a refusal. Returns the seconds until the caller's turn at this pace. Each refused caller gets a separate
   * turn.
   */
  refuse(): number {
    this.refused += 1
    this.#promised += 1
    const seconds = Math.ceil((this.queue.size + this.#promised) / (this.pace() ?? Infinity) / 1_000)
    return Math.min(MOST_SECONDS, Math.max(1, seconds))
  }
}

/** Maximum time that a request waits for its turn, ms. */
export const PATIENCE = {
  /** The time from the start of a burst within which a tenant's line must become empty. */
  BURST_MS: 5_000,
  /** The time that each new request waits in an overload, when the line did not become empty in time. */
  OVERLOAD_MS: 500,
} as const

/**
 * An element of a tenant's line. Each element is linked to its neighbours, so that it can be removed from any position.
 */
export interface Waiting<T> {
  readonly item: T
  readonly at: number
  readonly line: Line<T>
  older: Waiting<T> | undefined
  newer: Waiting<T> | undefined
}

interface Line<T> {
  readonly tenant: string
  /** The time since which the line has not been empty. */
  readonly since: number
  size: number
  oldest: Waiting<T> | undefined
  newest: Waiting<T> | undefined
}

/**
 * A line for each tenant, served in turn. A line is first in, first out, except in an overload that is too long to
 * serve every request in time. In such an overload, the newest request is first, because its caller is most likely
 * still waiting (adaptive LIFO).
 */
export class FairQueue<T> {
  readonly #lines = new Map<string, Line<T>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** @param first true when the request has already had its turn and joins the front of its tenant's line */
  add(tenant: string, item: T, at: number, first = false): Waiting<T> {
    let line = this.#lines.get(tenant)
    if (line === undefined) {
      line = { tenant, since: at, size: 0, oldest: undefined, newest: undefined }
      this.#lines.set(tenant, line)
    }
    const [older, newer] = first ? [undefined, line.oldest] : [line.newest, undefined]
    const waiting: Waiting<T> = { item, at, line, older, newer }
    this.#size += 1
    line.size += 1
    join(line, older, waiting)
    join(line, waiting, newer)
    return waiting
  }

  remove({ line, older, newer }: Waiting<T>): void {
    this.#size -= 1
    line.size -= 1
    join(line, older, newer)
    if (line.size === 0) this.#lines.delete(line.tenant)
  }

  /**
   * Removes the next item, in turn, that satisfies `fits`.
   *
   * @param perMs items served per ms, or undefined while unknown
   */
  next(now: number, perMs: number | undefined, fits: (item: T) => boolean): T | undefined {
    for (const line of this.#lines.values()) {
      const newestFirst = isStanding(line, now) && this.#msOf(line, perMs) > PATIENCE.OVERLOAD_MS
      const waiting = (newestFirst ? line.newest : line.oldest) as Waiting<T>
      if (!fits(waiting.item)) continue
      // this tenant's next turn is after the turns of all others
      this.#lines.delete(line.tenant)
      this.#lines.set(line.tenant, line)
      this.remove(waiting)
      return waiting.item
    }
    return undefined
  }

  /** Removes an item that waited too long. */
  expired(now: number): T | undefined {
    for (const line of this.#lines.values()) {
      const oldest = line.oldest as Waiting<T>
      if (!isStanding(line, now) || now - oldest.at <= PATIENCE.OVERLOAD_MS) continue
      this.remove(oldest)
      return oldest.item
    }
    return undefined
  }

  /** True when another item of this tenant would wait in vain, because at this pace its turn would be too late. */
  isTooLong(tenant: string, now: number, perMs: number | undefined): boolean {
    const line = this.#lines.get(tenant)
    if (line === undefined || isStanding(line, now)) return false
    return this.#msOf(line, perMs) > Math.max(PATIENCE.OVERLOAD_MS, line.since + PATIENCE.BURST_MS - now)
  }

  /** Time for serving the whole line while no other line becomes empty, ms. */
  #msOf({ size }: Line<T>, perMs = Infinity): number {
    return (size * this.#lines.size) / perMs
  }
}

const isStanding = ({ since }: Line<unknown>, now: number): boolean => now - since > PATIENCE.BURST_MS

/** Makes two items neighbours. Undefined marks the end of the line. */
function join<T>(line: Line<T>, older: Waiting<T> | undefined, newer: Waiting<T> | undefined): void {
  if (older === undefined) line.oldest = newer
  else older.newer = newer
  if (newer === undefined) line.newest = older
  else newer.older = older
}
