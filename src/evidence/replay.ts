import type { JsonObject, JsonValue } from '../contract/json.ts'
import { SYSTEM } from '../domain/evidence.ts'
import type { LegalHold } from '../domain/legal-hold.ts'
import type { ThreadStatus } from '../domain/thread.ts'
import type { EventKind } from '../events/kinds/event.ts'
import { kindOf, membersOf, webhookOf } from '../events/events.ts'
import { requireCredential } from '../events/laws/access.ts'
import { mustStay, noteThread } from '../events/laws/legal-holds.ts'
import { emptyLedger, type Ledger, type LedgerThread } from '../events/laws/ledger.ts'
import { obey } from '../events/laws/thread-law.ts'
import { readEvent, type ReadEvent, whoOf } from '../events/record/read-event.ts'
import { LawBroken, requireThat } from '../events/record/require.ts'

/** A tenant's state after all of its records. */
export interface Story {
  /** The number of calls that policy decided immediately. */
  readonly allowed: number
  readonly rejected: number
  /** The number of threads by status. */
  readonly threads: Readonly<Record<ThreadStatus, number>>
  /** Approved threads whose proof was redeemed. */
  readonly redeemed: number
  /** Votes with a display, by whether the export has what their digest covers. */
  readonly displays: { readonly checked: number; readonly unchecked: number }
}

/** A thread's state after all of its records. */
export interface ThreadStory {
  readonly status: ThreadStatus
  readonly revision: number
  readonly redeemed: boolean
  /** True when one of the thread's records is impossible. In that case, later states are unknown. */
  readonly broken: boolean
  readonly opened_at: number
  /** True when the thread ended, or only its collected proof may still be redeemed. */
  readonly over: boolean
}

/** The state of a replay. */
export interface Replayed {
  readonly ledger: Ledger
  readonly latest: number
  readonly tenant: string | undefined
}

/**
 * Replays every record of evidence (docs/evidence.md, completeness) against the gateway's own table of transitions.
 * Also replays credentials, votes, proofs and freezes. A removed, invented or moved record contradicts the records that
 * depend on it.
 */
export class Replay {
  readonly #ledger: Ledger
  /** The latest time so far. */
  #latest: number
  #tenant: string | undefined

  /** @param from the state after earlier records */
  constructor(
    { ledger, latest, tenant }: Replayed = { ledger: emptyLedger(), latest: 0, tenant: undefined },
  ) {
    this.#ledger = ledger
    this.#latest = latest
    this.#tenant = tenant
  }

  /** The state after the records so far, which the next record changes. */
  state(): Replayed {
    return { ledger: this.#ledger, latest: this.#latest, tenant: this.#tenant }
  }

  /**
   * The fault of the next record, in words; undefined when it follows from the earlier ones. The possible part of a
   * faulty record is entered, so that it causes no faults in later records.
   *
   * @param disclosed the members beside the record, where they are known
   */
  take(value: JsonValue, disclosed?: JsonObject): string | undefined {
    const { due } = this.#ledger
    delete this.#ledger.due
    this.#ledger.records += 1
    let read: { readonly event: ReadEvent<JsonObject>; readonly kind: EventKind } | undefined
    const unreadable = brokenBy(() => {
      const event = readEvent(value)
      const kind = requireKind(event)
      read = { event, kind }
      this.#requireTenant(event, kind)
    })
    if (read === undefined || unreadable) {
      delete this.#ledger.last
      return unreadable?.message
    }
    const { event, kind } = read
    const missing = brokenBy(() => requireDue(event, due))
    const impossible = this.#live({ ...event, disclosed }, kind)
    const untimely = brokenBy(() => this.#requireTime(event))
    this.#ledger.last = event
    return (missing ?? impossible ?? untimely)?.message
  }

  /** The fault of a missing record at the end. */
  end(): string | undefined {
    const { due } = this.#ledger
    return (
      due &&
      `the export ends before \`${due.type}\` of ${due.thread}, which is written together with its last record`
    )
  }

  /** Ids of all threads that were opened. */
  threads(): string[] {
    return [...this.#ledger.threads.keys()]
  }

  thread(id: string): ThreadStory | undefined {
    const broken = this.#ledger.broken.has(id)
    const {
      status = 'pending_review',
      revision = 0,
      approval,
      opened_at = 0,
    } = this.#ledger.threads.get(id) ?? {}
    if (revision === 0 && !broken) return undefined
    const over = status === 'rejected' || approval?.collected === true
    return { status, revision, redeemed: approval?.redeemed === true, opened_at, over, broken }
  }

  /** True when evidence shows that nothing can have deleted the thread, because of a legal hold. */
  mustStay(id: string): boolean {
    return mustStay(this.#ledger, id)
  }

  /** The legal holds in force. */
  legalHolds(): readonly LegalHold[] {
    return this.#ledger.legalHolds.holds
  }

  story(): Story {
    const threads = { pending_review: 0, changes_requested: 0, approved: 0, rejected: 0 }
    let redeemed = 0
    for (const { status, approval } of this.#ledger.threads.values()) {
      threads[status] += 1
      if (approval?.redeemed === true) redeemed += 1
    }
    const { allowed, rejected, displays } = this.#ledger
    return { allowed, rejected, threads, redeemed, displays }
  }

  #requireTenant({ tenant }: ReadEvent, { system }: EventKind): void {
    this.#tenant ??= tenant
    const isPossible = system === 'too' || (system === true) === (tenant === SYSTEM)
    requireThat(isPossible, `no record of \`${tenant}\` has this type`)
    requireThat(
      tenant === this.#tenant,
      `it belongs to tenant \`${tenant}\`, but the first record belongs to \`${this.#tenant}\``,
    )
  }

  /**
   * Requires that the record's time, which is the start of its commit, fits the earlier records. The store's clock
   * never runs backwards.
   */
  #requireTime(event: ReadEvent): void {
    const { at } = event
    const latest = this.#latest
    const follows = at + OUT_OF_ORDER_MS >= latest
    // a record from the future is reported once, not again by every later record
    this.#latest = follows ? Math.max(latest, at) : at
    requireThat(follows, `an earlier record has the time ${new Date(latest).toISOString()}`)
  }

  /** Applies the laws. An act without a credential still takes effect, because later records depend on it. */
  #live(record: ReadEvent<JsonObject>, kind: EventKind): LawBroken | undefined {
    const { thread = '', actor } = record
    const unproved = this.#once(`${actor.kind}:${actor.id}`, () => requireCredential(this.#ledger, record))
    const impossible = this.#once(thread, () => {
      requireActor(record, kind)
      requireMembers(record, kind)
      obey(this.#ledger, record, kind)
      requireNoOthers(record, kind)
      noteThread(this.#ledger, record)
      happen(this.#ledger.threads.get(thread), webhookOf(record))
    })
    return unproved ?? impossible
  }

  #once(name: string, law: () => void): LawBroken | undefined {
    if (this.#ledger.broken.has(name)) return undefined
    const broken = brokenBy(law)
    if (broken && name !== '') this.#ledger.broken.add(name)
    return broken
  }
}

function happen(thread: LedgerThread | undefined, event: string | undefined): void {
  if (event !== undefined && thread?.happened.includes(event) === false)
    thread.happened = [...thread.happened, event]
}

function requireKind({ type }: ReadEvent): EventKind {
  const kind = kindOf(type)
  requireThat(kind !== undefined, `the type ${JSON.stringify(type)} is unknown`)
  return kind
}

/** Requires a known actor. A part of the gateway and the admin key each have a fixed name. */
function requireActor({ actor }: ReadEvent, { by }: EventKind): void {
  const { kind, id } = actor
  requireThat(
    by.some((one) => one === kind || one.startsWith(`${kind}:`)),
    `an actor of kind ${kind} cannot do that`,
  )
  requireThat(kind !== 'admin' || id === 'admin', 'the admin key has only one name')
  requireThat(
    by.some((one) => one === whoOf(actor)),
    `the gateway has no part \`${id}\` that does that`,
  )
}

/** Requires every member that is not optional, and that each member has the right kind. */
function requireMembers({ details }: ReadEvent<JsonObject>, kind: EventKind): void {
  for (const [name, { optional, accepts, otherwise }] of Object.entries(membersOf(kind))) {
    const value = Object.hasOwn(details, name) ? details[name] : undefined
    if (value === undefined) requireThat(optional, `its \`${name}\` is missing`)
    else requireThat(accepts(value), `its \`${name}\` ${otherwise}`)
  }
}

function requireNoOthers({ details }: ReadEvent<JsonObject>, kind: EventKind): void {
  const members = membersOf(kind)
  for (const name of Object.keys(details))
    requireThat(Object.hasOwn(members, name), `such a record cannot have \`${name}\``)
}

function requireDue({ type, thread }: ReadEvent, due: Ledger['due']): void {
  if (due === undefined || (due.type === type && due.thread === thread)) return
  throw new LawBroken(
    `\`${due.type}\` of ${due.thread} is due here: it is written together with the previous record`,
  )
}

/** The law that `laws` violates, or undefined. */
function brokenBy(laws: () => void): LawBroken | undefined {
  try {
    laws()
    return undefined
  } catch (error) {
    if (error instanceof LawBroken) return error
    throw error
  }
}

/** A time far longer than the maximum of a commit. */
export const OUT_OF_ORDER_MS = 5 * 60_000
