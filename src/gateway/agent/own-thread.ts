import type { Decision } from '../../contract/agent.ts'
import { GatewayError } from '../../contract/errors.ts'
import { THREAD_ID } from '../../domain/id.ts'
import { pollAfterSeconds, type Thread } from '../../domain/thread.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { readAgain, unchanged, type Versioned } from '../core/records.ts'
import { isReadAhead, type Plan } from '../core/transact.ts'

/** The threads of the calling agent, and their decisions. */

/** A thread by its id, and, when given, by the task to which it must belong. */
export interface Named {
  readonly thread_id: string
  readonly task_id?: string | undefined
}

/**
 * The agent's own thread. For a thread of another agent or task, the error is the same as for a missing thread.
 *
 * @throws GatewayError `not_found`
 */
export async function ownThread(
  deps: Deps,
  caller: Caller,
  { thread_id, task_id }: Named,
): Promise<Versioned<Thread>> {
  const thread = THREAD_ID.test(thread_id) ? await lookAt(deps, caller.tenant, thread_id) : undefined
  if (thread === undefined || thread.value.agent !== caller.id) throw notFound()
  if (task_id !== undefined && thread.value.task_id !== task_id) throw notFound()
  return thread
}

/** Threads whose parsed records an instance remembers. Most polls find their thread unchanged. */
const REMEMBERED_THREADS = 2_000

async function lookAt(deps: Deps, tenant: string, id: string): Promise<Versioned<Thread> | undefined> {
  const { threads } = deps
  const known = threads.get(id)
  const thread = await readAgain(deps.store, tenant, ['thread', id], known)
  if (thread === undefined || thread === known) return thread
  if (threads.size >= REMEMBERED_THREADS) threads.clear()
  threads.set(id, thread)
  return thread
}

export function notFound(): GatewayError {
  return new GatewayError('not_found', 'this agent has no decision under this identifier')
}

/** The decision without its proof, which a separate step adds. */
export function decisionOn(
  thread: Thread,
  now: number,
): Omit<Decision, 'approval_token' | 'token_expires_at'> {
  const pending = thread.status === 'pending_review'
  return {
    status: thread.status,
    task_id: thread.task_id,
    thread_id: thread.thread_id,
    ...(thread.message === '' ? {} : { message: thread.message }),
    ...(pending ? { recommended_poll_after_seconds: pollAfterSeconds(now - thread.created_at) } : {}),
    ...(thread.action_hash === undefined ? {} : { action_hash: thread.action_hash }),
  }
}

/**
 * Confirms a decision on the replicas before reporting it, because a failover could undo the decision. Without a
 * decision, no confirmation is needed.
 */
export function asRead(deps: Deps, thread: Versioned<Thread>): Plan<Decision> {
  const { thread_id, status } = thread.value
  return {
    answer: decisionOn(thread.value, deps.store.now()),
    guards: [unchanged('thread', thread_id, thread)],
    confirmed: status !== 'pending_review' && isReadAhead(deps),
  }
}
