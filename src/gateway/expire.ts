import { isExpired, type Thread } from '../domain/thread.ts'
import type { Lapse } from './approval.ts'
import type { Deps } from './deps.ts'
import { aboutThread, isoTime } from './evidence.ts'
import { release, withoutCharges } from './limits.ts'
import { unchanged, type Versioned } from './records.ts'
import { moved, writeThread } from './threads.ts'
import type { Plan } from './transact.ts'

/** What ends a thread without a person: each is a stable code at the start of its message. */
export type ClosingCode = 'expired' | 'frozen' | Lapse['code']

export const closingMessage = (code: ClosingCode, sentence: string): string => `${code}: ${sentence}`

/**
 * The plan that rejects a thread whose time is up, whoever notices first: the timer, a poll, a vote or a revision.
 * Expiry always rejects.
 */
export function expiry(deps: Deps, read: Versioned<Thread>): Plan<Thread> | undefined {
  const now = deps.store.now()
  const { value: thread } = read
  if (!isExpired(thread, now)) return undefined
  const sentence =
    thread.status === 'approved' ? 'the approval was not collected in time' : 'nobody decided in time'
  const message = closingMessage('expired', sentence)
  const after = moved(withoutCharges(thread), 'expire', { message, ended_at: now })
  const written = writeThread(thread, after, { at: now })
  return {
    answer: written.thread,
    guards: [unchanged('thread', thread.thread_id, read)],
    writes: [...written.writes, ...release(thread)],
    notices: written.notices,
    evidence: [
      {
        type: 'review.expired',
        ...aboutThread(thread),
        at: isoTime(now),
        actor: { kind: 'gateway', id: 'timer' },
        details: { was: thread.status, risk: thread.risk, waited_ms: now - thread.created_at },
      },
    ],
  }
}
