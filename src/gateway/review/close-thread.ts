import type { Thread } from '../../domain/thread.ts'
import { aboutThread, isoTime } from '../core/event-record.ts'
import { release, withoutCharges } from '../agent/limits.ts'
import { unchanged, type Versioned } from '../core/records.ts'
import { moved, writeThread, type WrittenThread } from '../core/thread-records.ts'
import type { Plan } from '../core/transact.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { Actor } from '../../domain/evidence.ts'
import { closingMessage, type LapseCode } from '../core/closing-codes.ts'

/** How a thread ends without a decision of reviewers. */
export interface Ending {
  readonly trigger: 'expire' | 'freeze' | 'revoke' | 'withdraw'
  readonly message: string
  /** ms */
  readonly at: number
}

/** The thread as it ends: what its approval has taken from limits, and nobody used, is given back. */
function endedThread(thread: Thread, { trigger, message, at }: Ending): WrittenThread {
  const withdrawn = trigger === 'withdraw' ? { withdrawn_at: at } : {}
  const after = moved(withoutCharges(thread), trigger, { message, ended_at: at, ...withdrawn })
  const written = writeThread(thread, after, { at })
  return { ...written, writes: [...written.writes, ...release(thread)] }
}

export interface ReviewEnding extends Ending {
  readonly type: 'review.expired' | 'review.frozen' | 'review.withdrawn'
  /** Whom evidence names for it, whoever notices first that the review is over. */
  readonly actor: Actor
  readonly details?: JsonObject
}

export function endOfReview(read: Versioned<Thread>, ending: ReviewEnding): Plan<Thread> {
  const { value: thread } = read
  const written = endedThread(thread, ending)
  return {
    answer: written.thread,
    guards: [unchanged('thread', thread.thread_id, read)],
    writes: written.writes,
    notices: written.notices,
    evidence: [
      {
        type: ending.type,
        ...aboutThread(thread),
        at: isoTime(ending.at),
        actor: ending.actor,
        details: {
          was: thread.status,
          risk: thread.risk,
          waited_ms: ending.at - thread.created_at,
          ...ending.details,
        },
      },
    ],
  }
}

/** An approval that no longer holds ends its thread, and its proof with it. */
export function revoked(
  thread: Thread,
  { code, sentence }: { readonly code: LapseCode; readonly sentence: string },
  at: number,
): Plan<Thread> {
  const written = endedThread(thread, { trigger: 'revoke', message: closingMessage(code, sentence), at })
  return {
    answer: written.thread,
    writes: written.writes,
    notices: written.notices,
    evidence: [
      {
        type: 'approval.revoked',
        details: { code },
        ...aboutThread(thread),
        at: isoTime(at),
        actor: { kind: 'agent', id: thread.agent },
      },
    ],
  }
}
