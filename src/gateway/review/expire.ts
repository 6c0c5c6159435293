import { isExpired, type Thread } from '../../domain/thread.ts'
import type { Deps } from '../core/deps.ts'
import { closingMessage } from '../core/closing-codes.ts'
import { endOfReview } from './close-thread.ts'
import type { Versioned } from '../core/records.ts'
import type { Plan } from '../core/transact.ts'

/**
 * The plan that rejects an expired thread, for the first to notice: the timer, a poll, a vote or a revision. Expiry
 * always rejects.
 */
export function expiry(deps: Deps, read: Versioned<Thread>): Plan<Thread> | undefined {
  const { value: thread } = read
  const at = deps.store.now()
  if (!isExpired(thread, at)) return undefined
  const sentence =
    thread.status === 'approved' ? 'the approval was not collected in time' : 'nobody decided in time'
  const message = closingMessage('expired', sentence)
  const actor = { kind: 'gateway', id: 'timer' } as const
  return endOfReview(read, { trigger: 'expire', message, at, event: { type: 'review.expired' }, actor })
}
