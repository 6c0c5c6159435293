import type { ThreadSummary } from '../contract/reviewer.ts'
import { quorum, type Quorum } from '../domain/quorum.ts'
import type { Thread } from '../domain/thread.ts'
import type { Snapshot, Tenant } from '../policy/snapshot.ts'
import { approversOf } from './approval.ts'
import type { Deps } from './deps.ts'
import { isoTime } from './evidence.ts'

/** A thread as lists show it. */
export function summaryOf(deps: Deps, snapshot: Snapshot | undefined, thread: Thread): ThreadSummary {
  const seats = quorumOf(deps, snapshot?.directory.tenants.get(thread.tenant), thread).seats
  return {
    thread_id: thread.thread_id,
    task_id: thread.task_id,
    status: thread.status,
    revision: thread.revision,
    risk: thread.risk,
    tool_name: thread.tool,
    agent: thread.agent,
    ...(thread.title === undefined ? {} : { subject: thread.title }),
    message: thread.message,
    created_at: isoTime(thread.created_at),
    ...(thread.deadline === undefined ? {} : { deadline: isoTime(thread.deadline) }),
    groups: thread.requirement.seats.map((seat) => seat.group),
    approvals: {
      given: seats.reduce((sum, seat) => sum + seat.filledBy.length, 0),
      required: seats.reduce((sum, seat) => sum + seat.approvals, 0),
    },
  }
}

/** Seats as they stand: judged at the moment of approval once the thread is approved, else now. */
export function quorumOf(deps: Deps, tenant: Tenant | undefined, thread: Thread): Quorum {
  const at = thread.approval?.at ?? deps.store.now()
  return quorum(thread.requirement, approversOf(tenant, thread), at - thread.submitted_at)
}
