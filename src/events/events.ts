import type { WebhookEvent } from '../contract/webhook.ts'
import type { EventKind } from './kinds/event.ts'
import { type DetailsOf, type DisclosedOf, type Fields, optional, text } from './record/field.ts'
import { ACCESS } from './kinds/access.ts'
import { DECISIONS } from './kinds/decisions.ts'
import { DISCLOSURES } from './kinds/disclosures.ts'
import { REVIEWS } from './kinds/reviews.ts'
import { WEBHOOKS } from './kinds/webhooks.ts'

/** The table of events. `evidence verify`, the gateway's records and docs/evidence.md derive from it. */
export const EVENTS = { ...DECISIONS, ...REVIEWS, ...WEBHOOKS, ...ACCESS, ...DISCLOSURES } satisfies Record<
  string,
  EventKind
>

export type EventType = keyof typeof EVENTS

/** The `details` of a record of the type, which the log keeps. The commitment is added when the record is encoded. */
export type EventDetails<T extends EventType> = DetailsOf<(typeof EVENTS)[T]['logged']> & {
  readonly commitment?: string | undefined
}

/** The members of the type that are kept beside the log. */
export type EventDisclosed<T extends EventType> = DisclosedOf<NonNullable<(typeof EVENTS)[T]['disclosed']>>

const KINDS = new Map<string, EventKind>(Object.entries(EVENTS))

/** The row of a record's type; undefined for a type that this version never writes. */
export const kindOf = (type: string): EventKind | undefined => KINDS.get(type)

const COMMITMENT = { commitment: optional(text('commitment to the disclosed members')) }

/** The members that a record of the kind may have in the log. */
export const membersOf = ({ logged, disclosed }: EventKind): Fields =>
  disclosed === undefined ? logged : { ...logged, ...COMMITMENT }

/** The event that webhooks receive for a record; undefined when they receive none. */
export function webhookOf({ type, details }: WithDetails): WebhookEvent | undefined {
  const webhook = kindOf(type)?.webhook
  return typeof webhook === 'function' ? webhook(details ?? {}) : webhook
}

/** The words after the subject: `was approved`, `waits for reviewers`. */
export function sayingOf(record: WithDetails): string {
  const whom = askedBy(record)
  return whom === undefined ? phraseOf(record) : `${phraseOf(record)} ${whom}`
}

/** The reviewers whom a record of this kind asks; undefined for other kinds. */
export function askedBy({ type, details }: WithDetails): string | undefined {
  const asks = kindOf(type)?.asks
  return typeof asks === 'function' ? asks(details ?? {}) : asks
}

/** The same words without the groups. */
export function phraseOf({ type, details }: WithDetails): string {
  const says = kindOf(type)?.says ?? `is of the unknown type ${type}`
  return typeof says === 'function' ? says(details ?? {}) : says
}

interface WithDetails {
  readonly type: string
  readonly details?: object
}
