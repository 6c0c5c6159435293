import { BY_FREEZING, TIMER } from '../../domain/evidence.ts'
import { canEnd, isAbandoned, isExpired, type Thread } from '../../domain/thread.ts'
import { frozenMessage } from '../core/freezes.ts'
import type { KnownFreezes } from '../core/caches.ts'
import { closingMessage } from '../core/closing-codes.ts'
import type { Deps } from '../core/deps.ts'
import type { Versioned } from '../core/records.ts'
import type { Plan } from '../core/transact.ts'
import { completion } from './approval-effects.ts'
import { raise, seatTaken } from './wait-again.ts'
import { endOfReview } from './close-thread.ts'

/**
 * The plan for a change that no caller requested: the thread expired, a freeze ended it, or its
 * seats are filled, or no longer filled. The
 * timer, a poll or a reviewer's request commits the plan, whichever is first.
 */
export async function settleThread(
  deps: Deps,
  read: Versioned<Thread>,
  freezes: KnownFreezes,
): Promise<Plan<Thread> | undefined> {
  return (
    expiry(deps, read) ??
    frozenEnd(deps, read, freezes) ??
    abandonment(deps, read) ??
    seatTaken(deps, read, freezes) ??
    (await filled(deps, read, freezes))
  )
}

/** The approval of a thread whose seats are filled, or the raise that empties one: policy is asked again first. */
async function filled(
  deps: Deps,
  read: Versioned<Thread>,
  freezes: KnownFreezes,
): Promise<Plan<Thread> | undefined> {
  const plan = await completion(deps, read, freezes)
  return plan && ((await raise(deps, read, freezes)) ?? plan)
}

/**
 * The plan that rejects an expired thread. The timer, a poll, a vote or a revision commits the plan, whichever is
 * first. Expiry always rejects.
 */
export function expiry(deps: Deps, read: Versioned<Thread>): Plan<Thread> | undefined {
  const { value: thread } = read
  const at = deps.store.now()
  if (!isExpired(thread, at)) return undefined
  const sentence =
    thread.status === 'approved' ? 'the approval was not collected in time' : 'no reviewer decided in time'
  const message = closingMessage('expired', sentence)
  return endOfReview(read, {
    trigger: 'expire',
    message,
    at,
    event: { type: 'review.expired' },
    actor: TIMER,
  })
}

/** The plan that withdraws a thread whose agent stopped waiting and did not return. */
function abandonment(deps: Deps, read: Versioned<Thread>): Plan<Thread> | undefined {
  const { value: thread } = read
  const at = deps.store.now()
  if (!isAbandoned(thread, at)) return undefined
  const reason = 'the agent stopped waiting'
  return endOfReview(read, {
    trigger: 'withdraw',
    message: closingMessage('withdrawn', reason),
    at,
    event: { type: 'review.withdrawn', reason },
    actor: TIMER,
  })
}

/**
 * The plan that ends a frozen thread. Undefined when no freeze applies to the thread, or when the thread has already
 * ended, for example by redemption.
 */
export function frozenEnd(
  deps: Deps,
  read: Versioned<Thread>,
  known: KnownFreezes,
): Plan<Thread> | undefined {
  const { value: thread } = read
  const message = frozenMessage(known, thread)
  if (message === undefined || !canEnd(thread)) return undefined
  const at = deps.store.now()
  const event = { type: 'review.frozen' } as const
  return endOfReview(read, { trigger: 'freeze', message, at, event, actor: BY_FREEZING })
}
