import type { Thread } from '../../domain/thread.ts'
import { type EvidenceRecord, type Happened, record } from '../core/event-record.ts'
import { release, withoutCharges } from './limits.ts'
import { unchanged, type Versioned } from '../core/records.ts'
import { moved, writeThread, type WrittenThread } from './thread-records.ts'
import type { Plan } from '../core/transact.ts'
import { type Actor, agentNamed } from '../../domain/evidence.ts'
import { closingMessage, type LapseCode } from '../core/closing-codes.ts'

/** The end of a thread without a decision of reviewers. */
export interface Ending {
  readonly trigger: 'expire' | 'freeze' | 'revoke' | 'withdraw'
  readonly message: string
  /** ms */
  readonly at: number
}

/** The ended thread. Unused charges of the thread's approval are reversed. */
function endedThread(thread: Thread, { trigger, message, at }: Ending, event: EvidenceRecord): WrittenThread {
  const withdrawn = trigger === 'withdraw' ? { withdrawn_at: at } : {}
  const after = moved(withoutCharges(thread), trigger, { message, ended_at: at, ...withdrawn })
  const written = writeThread(thread, after, { at, evidence: [event] })
  return { ...written, writes: [...written.writes, ...release(thread)] }
}

export interface ReviewEnding extends Ending {
  /** The agent's reason for a withdrawal. */
  readonly event:
    | { readonly type: 'review.expired' | 'review.frozen' }
    | { readonly type: 'review.withdrawn'; readonly reason: string | undefined }
  /** The actor in evidence, regardless of which part of the gateway ends the thread. */
  readonly actor: Actor
}

export function endOfReview(read: Versioned<Thread>, ending: ReviewEnding): Plan<Thread> {
  const { value: thread } = read
  const { at, actor } = ending
  const written = endedThread(thread, ending, record(at, actor, thread, ended(thread, ending)))
  return {
    answer: written.thread,
    guards: [unchanged('thread', thread.thread_id, read)],
    writes: written.writes,
    notices: written.notices,
    evidence: written.evidence,
  }
}

function ended(
  { status, risk, created_at }: Thread,
  { event, at }: ReviewEnding,
): Happened<ReviewEnding['event']['type']> {
  if (status === 'rejected') throw new TypeError('a rejected thread cannot end again')
  const details = { was: status, risk, waited_ms: at - created_at }
  if (event.type !== 'review.withdrawn') return { type: event.type, details }
  return { type: event.type, details, disclosed: { reason: event.reason } }
}

/** Ends a thread whose approval is no longer valid, together with its proof. */
export function revoked(
  thread: Thread,
  { code, sentence }: { readonly code: LapseCode; readonly sentence: string },
  at: number,
): Plan<Thread> {
  const event = record(at, agentNamed(thread.agent), thread, { type: 'approval.revoked', details: { code } })
  const ending = { trigger: 'revoke', message: closingMessage(code, sentence), at } as const
  const written = endedThread(thread, ending, event)
  return {
    answer: written.thread,
    writes: written.writes,
    notices: written.notices,
    evidence: written.evidence,
  }
}
