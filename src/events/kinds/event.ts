import type { WebhookEvent } from '../../contract/webhook.ts'
import type { Actor } from '../../domain/evidence.ts'
import type { Meter } from '../../metrics/table.ts'
import type { DetailsOf, Fields } from '../record/field.ts'
import type { Law, Lawful } from '../laws/thread-law.ts'

/** The parts of the gateway that act automatically. */
export type GatewayPart = 'quorum' | 'policy' | 'timer' | 'freeze' | 'webhooks' | 'sign-in' | 'policies'

/** Possible actors. The gateway names its part. */
export type Who = Exclude<Actor['kind'], 'gateway'> | `gateway:${GatewayPart}`

/**
 * One kind of evidence record, with everything that depends on the kind. Each member of a record is either logged, and
 * kept as long as the log, or disclosed: the log holds a commitment to it (src/domain/disclosure.ts).
 *
 * @typeParam L the logged members
 * @typeParam D the disclosed members
 * @typeParam R the members that a function of the row may read
 */
export interface EventKind<
  L extends Fields = Fields,
  D extends Fields = Fields,
  R extends object = object,
> extends Lawful<R, keyof L & string> {
  /** The words for people, after the subject: "was approved". */
  readonly says: string | ((details: R) => string)
  /** The words that follow `says` where no groups are named: "waits for" "reviewers". A chat names the groups. */
  readonly asks?: string | ((details: Partial<R>) => string)
  /** The subject, if not a call. */
  readonly of?: string
  readonly by: readonly Who[]
  /** `true` for records that only the evidence of `_system` contains; `too` for those that it may contain. */
  readonly system?: true | 'too'
  readonly logged: L
  readonly disclosed?: D
  /** The event that webhooks receive. */
  readonly webhook?: WebhookEvent | ((details: R) => WebhookEvent | undefined)
  /** Counts a record of this kind once it is durable. */
  readonly count?: (meter: Meter, record: Counted<R>) => void
}

/** The part of a record that metrics use. */
export interface Counted<R> {
  readonly details: R
  readonly tool?: string | undefined
}

/** A row of the table of events (events.ts). The functions of a row receive only records of its kind. */
export const event = <const L extends Fields, const D extends Fields = Record<never, never>>(
  kind: EventKind<L, D, DetailsOf<L> & Partial<DetailsOf<D>>>,
): EventKind<L, D> => kind as unknown as EventKind<L, D>

/** The law of a record that is independent of all others. */
export const alone: Law = () => undefined
