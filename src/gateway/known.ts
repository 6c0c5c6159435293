import type { Freezes } from '../domain/freeze.ts'
import type { Destination } from '../domain/webhook.ts'
import type { Version } from './records.ts'

/* What an instance keeps in memory of a tenant. It may be stale: every commit that rests on it guards it. */

/** The freezes of a tenant, as they were last read. */
export interface KnownFreezes {
  readonly freezes: Freezes
  /** The record; undefined when there is none. */
  readonly record: Version | undefined
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
