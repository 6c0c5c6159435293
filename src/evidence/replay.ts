import type { JsonValue } from '../contract/json.ts'
import { SYSTEM } from '../domain/evidence.ts'
import type { ThreadStatus } from '../domain/thread.ts'
import { holdsActor } from './actors.ts'
import { holdsCredential } from './laws-access.ts'
import { LAWS } from './laws.ts'
import { BrokenLaw, holds, toldRecord, type ToldRecord } from './record.ts'
import { nothingTold, type Told, type ToldThread } from './told.ts'

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
  readonly #told: Told = nothingTold()
  /** The latest time so far. */
  #latest = 0
  #tenant: string | undefined

  /** What is wrong with the next record, in words; undefined when it follows from those before. What can be lived through of it is, so that what follows is not blamed. */
  take(value: JsonValue): string | undefined {
    const { due } = this.#told
    delete this.#told.due
    let record: ToldRecord | undefined
    const unreadable = brokenBy(() => {
      record = toldRecord(value)
      this.#holdsTenant(record)
    })
    if (record === undefined || unreadable) {
      delete this.#told.last
      return unreadable?.message
    }
    const told = record
    const missing = brokenBy(() => holdsDue(told, due))
    const impossible = this.#live(told)
    const untimely = brokenBy(() => this.#holdsTime(told))
    this.#told.last = told
    return (missing ?? impossible ?? untimely)?.message
  }

  /** What is missing at the end. */
  end(): string | undefined {
    const { due } = this.#told
    return (
      due &&
      `the export ends before \`${due.type}\` of ${due.thread}, which is written together with its last record`
    )
  }

  /** Ids of all threads that were opened. */
  threads(): string[] {
    return [...this.#told.threads.keys()]
  }

  thread(id: string): ThreadStory | undefined {
    const broken = this.#told.broken.has(id)
    const { status = 'pending_review', revision = 0, approval } = this.#told.threads.get(id) ?? {}
    if (revision === 0 && !broken) return undefined
    return { status, revision, redeemed: approval?.redeemed === true, broken }
  }

  story(): Story {
    const threads = { pending_review: 0, changes_requested: 0, approved: 0, rejected: 0 }
    let redeemed = 0
    for (const { status, approval } of this.#told.threads.values()) {
      threads[status] += 1
      if (approval?.redeemed === true) redeemed += 1
    }
    return { allowed: this.#told.allowed, rejected: this.#told.rejected, threads, redeemed }
  }

  #holdsTenant({ tenant, type }: ToldRecord): void {
    this.#tenant ??= tenant
    const isSystem = tenant === SYSTEM
    holds(OF_SYSTEM.includes(type) === isSystem, `no record of \`${tenant}\` tells that`)
    holds(tenant === this.#tenant, `it is of tenant \`${tenant}\`, and the first is of \`${this.#tenant}\``)
  }

  /** The store's clock never goes back; a record has the time at which its commit was begun. */
  #holdsTime({ at }: ToldRecord): void {
    const latest = this.#latest
    const follows = at + OUT_OF_ORDER_MS >= latest
    // one that was of the future is told once, and not by all that come after it
    this.#latest = follows ? Math.max(latest, at) : at
    holds(follows, `a record before it is of ${new Date(latest).toISOString()}`)
  }

  /** What was done without a credential was done all the same: what comes after rests on it. */
  #live(record: ToldRecord): BrokenLaw | undefined {
    const { thread = '', actor } = record
    const unproved = this.#once(`${actor.kind}:${actor.id}`, () => holdsCredential(this.#told, record))
    const impossible = this.#once(thread, () => {
      holdsActor(record)
      LAWS[record.type](this.#told, record)
      happen(this.#told.threads.get(thread), record.type)
    })
    return unproved ?? impossible
  }

  #once(name: string, law: () => void): BrokenLaw | undefined {
    if (this.#told.broken.has(name)) return undefined
    const broken = brokenBy(law)
    if (broken && name !== '') this.#told.broken.add(name)
    return broken
  }
}

function happen(thread: ToldThread | undefined, type: string): void {
  if (thread?.happened.includes(type) === false) thread.happened = [...thread.happened, type]
}

function holdsDue({ type, thread }: ToldRecord, due: Told['due']): void {
  if (due === undefined || (due.type === type && due.thread === thread)) return
  throw new BrokenLaw(
    `\`${due.type}\` of ${due.thread} is due here: it is written together with the record before`,
  )
}

/** The law that is broken, when one is. */
function brokenBy(laws: () => void): BrokenLaw | undefined {
  try {
    laws()
    return undefined
  } catch (error) {
    if (error instanceof BrokenLaw) return error
    throw error
  }
}

/** What belongs to no tenant. */
const OF_SYSTEM: readonly string[] = ['policy.loaded', 'policy.failed', 'evidence.read']

/** Much more than a commit may take. */
export const OUT_OF_ORDER_MS = 5 * 60_000
