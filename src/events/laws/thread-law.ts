import type { JsonObject } from '../../contract/json.ts'
import { type ThreadStatus, type ThreadTrigger, transition } from '../../domain/thread.ts'
import { type ReadEvent, whoOf } from '../record/read-event.ts'
import { requireThat, textOf } from '../record/require.ts'
import {
  CLOCK_SKEW_MS,
  currentThread,
  deadlineOf,
  isFrozenSince,
  type Ledger,
  type LedgerThread,
  move,
  requireAgent,
  requireFresh,
  threadOf,
  tokenOf,
} from './ledger.ts'

/**
 * Checks a record against the ledger, and enters it into the ledger. The members of its details have the kinds that
 * the row declares.
 *
 * @throws LawBroken
 */
export type Law<R extends object = object> = (ledger: Ledger, event: ReadEvent<R>) => void

/**
 * The law of a record about a thread, as data: the state that it requires, and the change that it makes.
 * An agent acts only on its own threads. Where the details name the risk or the status, these are the thread's, except
 * that the next revision has its own risk.
 */
export interface ThreadLaw<R extends object = object> {
  /** The revision of the record: the current one, unless it is `any`, or the `next` one. */
  readonly revision?: 'any' | 'next'
  /** A freeze stops the act, unless the act may come after a freeze (`too`) or needs one (`only`). */
  readonly frozen?: 'too' | 'only'
  /** The status before, for an act that is no move. */
  readonly from?: ThreadStatus
  /** The move in the table of transitions, from a possible status to the next one. */
  readonly to?: ThreadTrigger
  /** The time before which, or after which, the act is possible. */
  readonly within?: Limit
  readonly after?: Limit
  /** The uses of the approval that the record excludes, with the fault. */
  readonly before?: Uses
  /** The use of the approval that this record is, once, with the fault of a second time. */
  readonly once?: Uses
  /** The call may run by this record. */
  readonly runs?: true
  /** The time since which the thread has waited, as the record states. */
  readonly since?: 'submitted_at' | 'opened_at'
  /** The part of the law that the data cannot say. It runs before the thread moves. */
  readonly also?: (ledger: Ledger, event: ReadEvent<R>, thread: LedgerThread) => void
}

type Limit = 'deadline' | 'proof'
type Uses = { readonly [use in 'collected' | 'redeemed' | 'released']?: string }

/** The part of a row that replay reads. */
export interface Lawful<R extends object = object, M extends string = string> {
  /** The law of replay for records of this kind: data for an act on a thread, a function where data cannot say it. */
  readonly law: Law<R> | ThreadLaw<R>
  /** The actors for each `reason`, for records of an end, after the word for the thing. */
  readonly ends?: readonly [what: string, by: Readonly<Record<string, readonly string[]>>]
  /** The member whose random value no other record states, and the word for it. */
  readonly fresh?: readonly [member: M, what: string]
}

/** Checks a record against the law of its row, and enters it. @throws LawBroken */
export function obey(ledger: Ledger, record: ReadEvent<JsonObject>, { law, fresh, ends }: Lawful): void {
  if (ends) requireEnd(record, ends)
  const isData = typeof law !== 'function'
  const thread = isData ? requireThread(ledger, record, law) : undefined
  if (fresh) requireFresh(ledger, textOf(record.details[fresh[0]], fresh[0]), fresh[1])
  if (!isData) law(ledger, record)
  else if (thread !== undefined) {
    law.also?.(ledger, record, thread)
    enter(ledger, record, { law, thread })
  }
}

function requireEnd(
  { actor, details }: ReadEvent<JsonObject>,
  [what, by]: NonNullable<Lawful['ends']>,
): void {
  const reason = textOf(details['reason'], 'reason')
  const isPossible = by[reason]?.some((who) => who === whoOf(actor)) === true
  requireThat(isPossible, `\`${actor.id}\` ends no ${what} as \`${reason}\``)
}

function requireThread(ledger: Ledger, record: ReadEvent<JsonObject>, law: ThreadLaw): LedgerThread {
  const thread = threadIn(ledger, record, law)
  const isFrozen = isFrozenSince(ledger, thread)
  requireThat(law.frozen !== undefined || !isFrozen, 'a freeze had ended its thread')
  if (record.actor.kind === 'agent') requireAgent(thread, record)
  requireStatus(thread, record, law)
  for (const [use, fault] of Object.entries({ ...law.before, ...law.once }))
    requireThat(thread.approval?.[use as keyof Uses] === undefined, fault)
  requireThat(law.frozen !== 'only' || isFrozen, 'no freeze has hit its thread')
  requireTime(thread, record, law)
  return thread
}

function threadIn(ledger: Ledger, record: ReadEvent, { revision }: ThreadLaw): LedgerThread {
  if (revision === 'any') return threadOf(ledger, record)
  const before = revision === 'next' ? 1 : 0
  return currentThread(ledger, { ...record, revision: (record.revision ?? 0) - before })
}

function requireStatus(thread: LedgerThread, { details }: ReadEvent<JsonObject>, law: ThreadLaw): void {
  const { status } = thread
  const { risk = thread.risk, was = status } = details
  const { from = status, to, revision } = law
  requireThat(risk === thread.risk || revision === 'next', `its thread had ${thread.risk} risk`)
  const isPossible = from === status && (to === undefined || transition(status, to) !== undefined)
  requireThat(was === status && isPossible, `its thread was ${status} at that time`)
}

const NOT_YET = { deadline: 'it had not expired', proof: 'its token had not expired' }
const TOO_LATE = { deadline: 'its thread had expired', proof: 'its token had expired' }

function requireTime(thread: LedgerThread, { at, details }: ReadEvent<JsonObject>, law: ThreadLaw): void {
  const { within, after, since } = law
  const waited = since && at - thread[since]
  requireThat(waited === undefined || details['waited_ms'] === waited, `it had waited ${waited} ms`)
  if (within) requireThat(at < endOf(thread, within) + CLOCK_SKEW_MS, TOO_LATE[within])
  if (after) requireThat(at + CLOCK_SKEW_MS >= endOf(thread, after), NOT_YET[after])
}

const endOf = (thread: LedgerThread, limit: Limit): number =>
  limit === 'deadline' ? deadlineOf(thread) : tokenOf(thread).expires_at

function enter(
  { records }: Ledger,
  { at }: ReadEvent,
  { law: { to, once = {}, runs }, thread }: { readonly law: ThreadLaw; readonly thread: LedgerThread },
): void {
  if (to) move(thread, to)
  if (to === 'quorum_met') thread.approval = { at }
  if (to === 'raise') delete thread.approval
  const { approval } = thread
  const uses = Object.fromEntries(Object.keys(once).map((use) => [use, true]))
  if (approval) thread.approval = { ...approval, ...uses, ...(runs && { ran: records }) }
}
