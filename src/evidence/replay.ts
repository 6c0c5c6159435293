import type { JsonValue } from '../contract/json.ts'
import { SYSTEM } from '../domain/evidence.ts'
import type { ThreadStatus } from '../domain/thread.ts'
import type { EventKind } from '../events/event.ts'
import { kindOf, webhookOf } from '../events/events.ts'
import { requireCredential } from '../events/laws/access.ts'
import { emptyLedger, type Ledger, type LedgerThread } from '../events/laws/ledger.ts'
import { readEvent, type ReadEvent } from '../events/read-event.ts'
import { LawBroken, requireThat } from '../events/require.ts'

/** What the records tell of a tenant, from the first on. */
export interface Story {
  /** Calls that policy answered at once. */
  readonly allowed: number
  readonly rejected: number
  /** Threads by what has become of them. */
  readonly threads: Readonly<Record<ThreadStatus, number>>
  /** Of the approved ones: those whose proof was redeemed. */
  readonly redeemed: number
}

/** What the records tell of a thread. */
export interface ThreadStory {
  readonly status: ThreadStatus
  readonly revision: number
  readonly redeemed: boolean
  /** One of its records cannot have happened: nothing more is known of it. */
  readonly broken: boolean
}

/**
 * Lives through everything again that evidence tells (docs/evidence.md, completeness): every thread by the table that the gateway itself moves it by, and
 * with it who may act, votes, proofs and freezes. What was left out, invented, or put into another order shows in what follows from it.
 */
export class Replay {
  readonly #ledger: Ledger = emptyLedger()
  /** The latest time so far. */
  #latest = 0
  #tenant: string | undefined

  /** What is wrong with the next record, in words; undefined when it follows from those before. What can be lived through of it is, so that what follows is not blamed. */
  take(value: JsonValue): string | undefined {
    const { due } = this.#ledger
    delete this.#ledger.due
    let read: { readonly event: ReadEvent; readonly kind: EventKind } | undefined
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
    const impossible = this.#live(event, kind)
    const untimely = brokenBy(() => this.#requireTime(event))
    this.#ledger.last = event
    return (missing ?? impossible ?? untimely)?.message
  }

  /** What is missing at the end. */
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
    const { status = 'pending_review', revision = 0, approval } = this.#ledger.threads.get(id) ?? {}
    if (revision === 0 && !broken) return undefined
    return { status, revision, redeemed: approval?.redeemed === true, broken }
  }

  story(): Story {
    const threads = { pending_review: 0, changes_requested: 0, approved: 0, rejected: 0 }
    let redeemed = 0
    for (const { status, approval } of this.#ledger.threads.values()) {
      threads[status] += 1
      if (approval?.redeemed === true) redeemed += 1
    }
    return { allowed: this.#ledger.allowed, rejected: this.#ledger.rejected, threads, redeemed }
  }

  #requireTenant({ tenant }: ReadEvent, { system }: EventKind): void {
    this.#tenant ??= tenant
    requireThat((system === true) === (tenant === SYSTEM), `no record of \`${tenant}\` tells that`)
    requireThat(
      tenant === this.#tenant,
      `it is of tenant \`${tenant}\`, and the first is of \`${this.#tenant}\``,
    )
  }

  /** The store's clock never goes back; a record has the time at which its commit was begun. */
  #requireTime({ at }: ReadEvent): void {
    const latest = this.#latest
    const follows = at + OUT_OF_ORDER_MS >= latest
    // one that was of the future is told once, and not by all that come after it
    this.#latest = follows ? Math.max(latest, at) : at
    requireThat(follows, `a record before it is of ${new Date(latest).toISOString()}`)
  }

  /** What was done without a credential was done all the same: what comes after rests on it. */
  #live(record: ReadEvent, kind: EventKind): LawBroken | undefined {
    const { thread = '', actor } = record
    const unproved = this.#once(`${actor.kind}:${actor.id}`, () => requireCredential(this.#ledger, record))
    const impossible = this.#once(thread, () => {
      requireActor(record, kind)
      kind.law(this.#ledger, record)
      requireDetails(record, kind)
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
  requireThat(kind !== undefined, `nothing is known of the type ${JSON.stringify(type)}`)
  return kind
}

/** Neither a part of the gateway nor the admin key has another name, least of all that of a person. */
function requireActor({ actor: { kind, id } }: ReadEvent, { by }: EventKind): void {
  const who = kind === 'gateway' ? `gateway:${id}` : kind
  requireThat(
    by.some((one) => one === kind || one.startsWith(`${kind}:`)),
    `no ${kind} does that`,
  )
  requireThat(kind !== 'admin' || id === 'admin', 'the admin key has no other name')
  requireThat(
    by.some((one) => one === who),
    `no part of the gateway named \`${id}\` does that`,
  )
}

/** Each member is one of the kind. A member that is missing is left to the law. */
function requireDetails({ details }: ReadEvent, kind: EventKind): void {
  for (const [name, value] of Object.entries(details)) {
    const field = Object.hasOwn(kind.details, name) ? kind.details[name] : undefined
    requireThat(field !== undefined, `no such record has \`${name}\``)
    requireThat(field.accepts(value), `its \`${name}\` ${field.otherwise}`)
  }
}

function requireDue({ type, thread }: ReadEvent, due: Ledger['due']): void {
  if (due === undefined || (due.type === type && due.thread === thread)) return
  throw new LawBroken(
    `\`${due.type}\` of ${due.thread} is due here: it is written together with the record before`,
  )
}

/** The law that is broken, when one is. */
function brokenBy(laws: () => void): LawBroken | undefined {
  try {
    laws()
    return undefined
  } catch (error) {
    if (error instanceof LawBroken) return error
    throw error
  }
}

/** Much more than a commit may take. */
export const OUT_OF_ORDER_MS = 5 * 60_000
