/*
 * Every kind of evidence record, one entry each: who writes it, what it holds, and what replay requires of it, what it counts.
 * May import contract, domain and the table of metrics.
 * Start with a row in kinds/reviews.ts, then its law in laws/.
 */
import type { EventKind } from './event.ts'
import type { DetailsOf } from './field.ts'
import { ACCESS } from './kinds/access.ts'
import { DECISIONS } from './kinds/decisions.ts'
import { REVIEWS } from './kinds/reviews.ts'
import { WEBHOOKS } from './kinds/webhooks.ts'

/** The table of events: `evidence verify`, the gateway's records and docs/evidence.md derive from it. */
export const EVENTS = { ...DECISIONS, ...REVIEWS, ...WEBHOOKS, ...ACCESS } satisfies Record<string, EventKind>

export type EventType = keyof typeof EVENTS

/** What a record of the type holds in `details`. */
export type EventDetails<T extends EventType> = DetailsOf<(typeof EVENTS)[T]['details']>

const KINDS = new Map<string, EventKind>(Object.entries(EVENTS))

/** The row of a type that a record names; undefined for a type that no gateway of this version writes. */
export const kindOf = (type: string): EventKind | undefined => KINDS.get(type)
