import type { Thread } from '../../domain/thread.ts'
import { aboutThread, isoTime } from '../core/event-record.ts'
import { release, withoutCharges } from '../agent/limits.ts'
import { unchanged, type Versioned } from '../core/records.ts'
import { moved, writeThread, type WrittenThread } from '../core/thread-records.ts'
import type { Plan } from '../core/transact.ts'

/** How a thread ends that no person ends. */
export interface Ending {
  readonly trigger: 'expire' | 'freeze' | 'revoke'
  readonly message: string
  /** ms */
  readonly at: number
}

/** What ends a thread without a person: each is a stable code at the start of its message. */
export type ClosingCode = 'expired' | 'frozen' | LapseCode

/** Why an approval no longer holds. */
export type LapseCode = 'policy_changed' | 'reviewer_removed' | 'store_changed'

export const closingMessage = (code: ClosingCode, sentence: string): string => `${code}: ${sentence}`

/** The thread as it ends: what its approval has taken from limits, and nobody used, is given back. */
export function endedThread(thread: Thread, { trigger, message, at }: Ending): WrittenThread {
  const after = moved(withoutCharges(thread), trigger, { message, ended_at: at })
  const written = writeThread(thread, after, { at })
  return { ...written, writes: [...written.writes, ...release(thread)] }
}

/** Whoever notices first that a review is over, this is whom evidence names for it. */
export interface ReviewEnding extends Ending {
  readonly type: 'review.expired' | 'review.frozen'
  readonly by: 'timer' | 'freeze'
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
        actor: { kind: 'gateway', id: ending.by },
        details: { was: thread.status, risk: thread.risk, waited_ms: ending.at - thread.created_at },
      },
    ],
  }
}
