import type { Actor } from '../../domain/evidence.ts'
import { quorum } from '../../domain/quorum.ts'
import { type Approval, currentVotes, type Thread } from '../../domain/thread.ts'
import type { Snapshot, Tenant } from '../../policy/evaluate/snapshot.ts'
import { approversOf } from './approvers.ts'
import type { Deps } from '../core/deps.ts'
import { aboutThread, type EvidenceRecord, isoTime } from '../core/event-record.ts'
import type { KnownFreezes } from '../core/caches.ts'
import { freezeGuard } from '../admin/freezes.ts'
import { noteHistory } from '../agent/call-history.ts'
import { charge } from '../agent/limits.ts'
import { unchanged, type Versioned } from '../core/records.ts'
import { beforeDeadline, moved, writeThread } from '../core/thread-records.ts'
import type { Plan } from '../core/transact.ts'

/*
 * What the votes of a thread amount to (docs/review-api.md): it is approved once every seat is filled. A vote fills seats; so does an escalation, and so does
 * a directory that knows a voter again.
 */

/** The thread approved, or undefined while a seat is empty. */
export function approved(
  thread: Thread,
  tenant: Tenant | undefined,
  now: Pick<Approval, 'at' | 'epoch'>,
): Thread | undefined {
  const seated = seatedBy(thread, tenant, now.at)
  return seated && approvedBy(thread, { ...now, seated })
}

function approvedBy(thread: Thread, approval: Given): Thread {
  return moved(thread, 'quorum_met', { approval, deadline: approval.at + thread.requirement.expires_ms })
}

type Given = Required<Pick<Approval, 'at' | 'epoch' | 'seated'>>

/** Who fills which seat of a waiting thread, by the votes that were cast; undefined while one is empty. */
function seatedBy(thread: Thread, tenant: Tenant | undefined, now: number): Given['seated'] | undefined {
  if (thread.status !== 'pending_review' || currentVotes(thread).length === 0) return undefined
  const { met, seats } = quorum(thread.requirement, approversOf(tenant, thread), now - thread.submitted_at)
  return met ? seats.map(({ filledBy }) => filledBy) : undefined
}

/** An approval charges the limits, even those without room, because a person decided, and it is part of the history. */
export function approving<T>(
  deps: Deps,
  snapshot: Snapshot | undefined,
  thread: Thread,
  plan: Plan<T>,
): Plan<T> {
  if (thread.status !== 'approved' || thread.approval === undefined) return plan
  const { at, epoch } = thread.approval
  const doer = { tenant: thread.tenant, agent: thread.agent, task: thread.task_id, tool: thread.tool }
  // whoever approves guards the epoch of the approval
  const noting = noteHistory(deps, snapshot, doer, { at, epoch })
  const charges = charge(thread.charges ?? [], at)
  return { ...plan, writes: [...(plan.writes ?? []), ...noting.writes, ...charges], landed: noting.landed }
}

const CLOSED_AS = {
  approved: 'review.approved',
  rejected: 'review.rejected',
  changes_requested: 'review.changes_requested',
  pending_review: undefined,
} as const

/** The record of what the votes have made of the thread; none while it waits. */
export function outcomeRecord(after: Thread, actor: Actor, at: number): EvidenceRecord[] {
  const type = CLOSED_AS[after.status]
  if (type === undefined) return []
  const details = {
    risk: after.risk,
    digest: after.digest,
    voters: currentVotes(after).map((one) => one.reviewer),
    waited_ms: at - after.submitted_at,
  }
  return [{ type, details, at: isoTime(at), actor, ...aboutThread(after) }]
}

/**
 * Now, when the seats of a waiting thread are found filled without another vote. Not by votes of another epoch of the store alone: it may have forgotten that
 * they were counted already, and what came of it (S19). Then somebody has to vote once more.
 */
export async function filledNow(deps: Deps, thread: Thread): Promise<Given | undefined> {
  const at = deps.store.now()
  const seated = seatedBy(thread, deps.policies.current()?.directory.tenants.get(thread.tenant), at)
  if (seated === undefined) return undefined
  const epoch = await deps.store.epoch(thread.tenant)
  return currentVotes(thread).at(-1)?.epoch === epoch ? { at, epoch, seated } : undefined
}

/** The plan that approves a thread whose seats were filled without another vote, whoever notices first: the timer, a poll or a reviewer who looks. */
export async function completion(
  deps: Deps,
  read: Versioned<Thread>,
  freezes: KnownFreezes,
): Promise<Plan<Thread> | undefined> {
  const { value: thread } = read
  const now = await filledNow(deps, thread)
  if (now === undefined) return undefined
  const { at, epoch } = now
  const after = approvedBy(thread, now)
  const evidence = outcomeRecord(after, { kind: 'gateway', id: 'quorum' }, at)
  const written = writeThread(thread, after, { at, evidence })
  return approving(deps, deps.policies.current(), written.thread, {
    answer: written.thread,
    guards: [unchanged('thread', thread.thread_id, read), freezeGuard(freezes), { epoch }],
    writes: written.writes,
    notices: written.notices,
    evidence,
    ...beforeDeadline(thread),
  })
}
