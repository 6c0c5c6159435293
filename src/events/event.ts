import type { WebhookEvent } from '../contract/webhook.ts'
import type { Actor } from '../domain/evidence.ts'
import type { Meter } from '../metrics/table.ts'
import type { DetailsOf, Fields } from './field.ts'
import type { Ledger } from './laws/ledger.ts'
import type { ReadEvent } from './read-event.ts'

/** The parts of the gateway that act by themselves. */
export type GatewayPart = 'quorum' | 'policy' | 'timer' | 'freeze' | 'webhooks' | 'sign-in' | 'policies'

/** Who can do something. The gateway names its part. */
export type Who = Exclude<Actor['kind'], 'gateway'> | `gateway:${GatewayPart}`

/** Checks what a record says against the ledger, and enters it. @throws LawBroken */
export type Law = (ledger: Ledger, event: ReadEvent) => void

/** One kind of evidence record: all that there is to say of it. */
export interface EventKind<D extends Fields = Fields, R = object> {
  /** What people read of it, behind its subject: "was approved". */
  readonly says: string | ((details: R) => string)
  /** The groups that may vote follow: "waits for finance". */
  readonly asks?: true
  /** The subject, where it is no call. */
  readonly of?: string
  readonly by: readonly Who[]
  /** Written in the evidence of `_system`, and nowhere else. */
  readonly system?: true
  readonly details: D
  /** What replay requires of a record of this kind. */
  readonly law: Law
  /** The event that webhooks get. */
  readonly webhook?: WebhookEvent | ((details: R) => WebhookEvent | undefined)
  /** Counts a record of this kind when it is durable. */
  readonly count?: (meter: Meter, record: Counted<R>) => void
}

/** What metrics see of a record. */
export interface Counted<R> {
  readonly details: R
  readonly tool?: string | undefined
}

/** A row of the table of events (events.ts). Only records of its kind reach its functions. */
export const event = <const D extends Fields>(kind: EventKind<D, DetailsOf<D>>): EventKind<D> =>
  kind as unknown as EventKind<D>

/** The law of a record from which nothing follows, and which follows from nothing. */
export const alone: Law = () => undefined
