import { FairQueue } from './fair-queue.ts'
import { createShares } from './shares.ts'

/** A pace is the mean over about this time, ms: longer than the pauses of a store. */
const MEMORY_MS = 1_000
/** The longest `Retry-After`, in seconds. */
const MOST_SECONDS = 15

/** The places of one kind of requests, the queue behind them, and how fast it moves. */
export class Lane<T> {
  readonly places
  readonly queue = new FairQueue<T>()
  /** Refused since the start. */
  refused = 0
  #freed = 0
  #perMs: number | undefined
  /** Since when requests wait, and when that was measured last. */
  #since: number | undefined
  #at = 0
  /** Turns that were promised to those who were refused. */
  #promised = 0

  constructor(places: number) {
    this.places = createShares(places)
  }

  /** Gives back a place. */
  free(tenant: string): void {
    this.places.free(tenant, 1)
    this.#freed += 1
  }

  /** Places that become free in a ms; undefined in the first moments of a queue, and without one. */
  pace(): number | undefined {
    return this.#since !== undefined && this.#at - this.#since >= MEMORY_MS ? this.#perMs : undefined
  }

  /** Looks at what has happened since the last time. Without a queue places are free because few ask, which says nothing. */
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

  /** Counts a refusal. Seconds until the turn of its caller at this pace: each of them is sent to a turn of its own. */
  refuse(): number {
    this.refused += 1
    this.#promised += 1
    const seconds = Math.ceil((this.queue.size + this.#promised) / (this.pace() ?? Infinity) / 1_000)
    return Math.min(MOST_SECONDS, Math.max(1, seconds))
  }
}
