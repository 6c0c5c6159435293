import { FairQueue } from './fair-queue.ts'
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
