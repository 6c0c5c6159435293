import type { Freezes } from '../../domain/freeze.ts'
import type { Destination } from '../../domain/webhook.ts'
import type { IndexEntry } from '../../store/store.ts'
import type { INDEX, Version, Versioned } from './records.ts'

/* What an instance keeps in memory of a tenant. It may be stale: every commit that rests on it guards it. */

/** The freezes of a tenant, as they were last read. */
export interface KnownFreezes {
  readonly freezes: Freezes
  /** The record; undefined when there is none. */
  readonly record: Versioned<Freezes> | undefined
}

/** The destinations of a tenant, as they were last read. */
export interface KnownDestinations {
  readonly list: readonly Destination[]
  /** The record; undefined when there is none. */
  readonly record: Version | undefined
}

/** A call that stands in the history. */
export interface Noted {
  /** ms since 1970. */
  readonly at: number
  /** The store's: in another one it may have forgotten it (S19). */
  readonly epoch: string
}

/** How far what a freeze has hit was looked for. Only this instance knows: another one begins anew. */
export interface Sweep {
  /** The freezes it is for. */
  readonly of: Version | undefined
  readonly index: typeof INDEX.due | typeof INDEX.purge
  /** Behind this entry it goes on. */
  readonly after?: IndexEntry
}
