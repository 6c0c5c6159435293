import { agentNamed } from '../../domain/evidence.ts'
import type { Decision } from '../../contract/agent.ts'
import { GatewayError } from '../../contract/errors.ts'
import { isUsed, type Thread, transition } from '../../domain/thread.ts'
import { type Caller, keyGuard } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { closingMessage } from '../core/closing-codes.ts'
import { keepsWords } from '../core/kept-words.ts'
import { endOfReview } from '../thread/close-thread.ts'
import { expiry, frozenEnd } from '../thread/settle-thread.ts'
import { freezeGuard, freezesNow } from '../core/freezes.ts'
import { standingOf } from '../auth/standing.ts'
import type { KnownFreezes } from '../core/caches.ts'
import { traceOf } from '../core/trace-context.ts'
import { decisionOn, ownThread } from './own-thread.ts'
import { unchanged, type Versioned } from '../core/records.ts'
import { beforeDeadline, rescheduled } from '../thread/thread-records.ts'
import { type Committed, type Plan, transact } from '../core/transact.ts'

export interface Withdrawal {
  readonly thread_id: string
  /** The reason, in the agent's words. */
  readonly reason?: string
  /** Withdraws the thread after this time, unless the agent reads its decision before. */
  readonly grace_seconds?: number
}

/**
 * Withdraws a call, at once or after a grace in which the agent may return. The thread ends, later votes are refused,
 * and the approval and proof of the call are void. Repeated withdrawals have no effect, because a thread that has
 * already ended stays unchanged.
 *
 * @throws GatewayError `not_found`, `not_pending` when the call may have run, `unauthenticated`, `store_unavailable`,
 * `outcome_unknown`
 */
export async function withdraw(
  deps: Deps,
  caller: Caller,
  withdrawal: Withdrawal,
): Promise<Committed<Decision>> {
  standingOf(deps, caller)
  return transact(deps, caller.tenant, async () => {
    const [thread, freezes] = await Promise.all([
      ownThread(deps, caller, { thread_id: withdrawal.thread_id }),
      freezesNow(deps, caller.tenant),
    ])
    deps.origin?.span?.goesOn(traceOf(thread.value))
    const { answer, ...plan } = withdrawn(deps, thread, { freezes, withdrawal })
    return {
      ...plan,
      answer: decisionOn(answer, deps.store.now()),
      guards: [...(plan.guards ?? []), keyGuard(caller), freezeGuard(freezes)],
    }
  })
}

interface Asked {
  readonly freezes: KnownFreezes
  readonly withdrawal: Withdrawal
}

/** The withdrawn thread. @throws GatewayError `not_pending` */
function withdrawn(
  deps: Deps,
  read: Versioned<Thread>,
  { freezes, withdrawal: { reason = 'the agent stopped the call', grace_seconds } }: Asked,
): Plan<Thread> {
  const { value: thread } = read
  const over = expiry(deps, read) ?? frozenEnd(deps, read, freezes)
  if (over !== undefined) return over
  if (transition(thread.status, 'withdraw') === undefined) return { answer: thread, confirmed: true }
  if (thread.approval !== undefined && isUsed(thread.approval))
    throw new GatewayError('not_pending', 'the approval was used: the call may have run')
  if (grace_seconds !== undefined) return left(deps, read, grace_seconds)
  const plan = endOfReview(read, {
    trigger: 'withdraw',
    message: closingMessage('withdrawn', reason),
    at: deps.store.now(),
    event: { type: 'review.withdrawn', reason: keepsWords(deps, 'agent_words') ? reason : undefined },
    actor: agentNamed(thread.agent),
  })
  return { ...plan, ...(thread.approval?.collected_at === undefined ? beforeDeadline(thread) : {}) }
}

/** Keeps the thread for a while. A proof that was handed out expires by itself. */
function left(deps: Deps, read: Versioned<Thread>, grace_seconds: number): Plan<Thread> {
  const { value: thread } = read
  if (thread.approval?.collected_at !== undefined) return { answer: thread, confirmed: true }
  const left_until = deps.store.now() + grace_seconds * 1_000
  return {
    answer: thread,
    guards: [unchanged('thread', thread.thread_id, read)],
    writes: rescheduled(thread, { ...thread, left_until }),
  }
}
