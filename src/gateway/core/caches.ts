import type { Freezes } from '../../domain/freeze.ts'
import type { Destination } from '../../domain/webhook.ts'
import type { IndexEntry } from '../../store/store.ts'
import type { Version, Versioned } from './records.ts'
import type { INDEX } from './indexes.ts'

/* A tenant's data that an instance caches in memory. It may be stale, so every commit that depends on it guards it. */

/** The freezes of a tenant at the last read. */
export interface KnownFreezes {
  readonly freezes: Freezes
  /** The record; undefined when it is absent. */
  readonly record: Versioned<Freezes> | undefined
}

/** The destinations of a tenant at the last read. */
export interface KnownDestinations {
  readonly list: readonly Destination[]
  /** The record; undefined when it is absent. */
  readonly record: Version | undefined
}

/** A call in the history. */
export interface Noted {
  /** ms since 1970. */
  readonly at: number
  /** The epoch of the store. In a later epoch, the store may have lost the call (S19). */
  readonly epoch: string
}

/** The progress of a sweep after a freeze. Other instances start sweeps of their own. */
export interface Sweep {
  /** The freezes that the sweep applies. */
  readonly of: Version | undefined
  readonly index: typeof INDEX.due | typeof INDEX.purge
  /** The last entry that was processed. */
  readonly after?: IndexEntry
}
