import type { Actor } from '../../domain/evidence.ts'
import { quorum } from '../../domain/quorum.ts'
import { type Approval, currentVotes, type Thread } from '../../domain/thread.ts'
import type { Snapshot, Tenant } from '../../policy/language/snapshot.ts'
import { approversOf } from './approvers.ts'
import type { Deps } from '../core/deps.ts'
import { type EvidenceRecord, record } from '../core/event-record.ts'
import type { KnownFreezes } from '../core/caches.ts'
import { freezeGuard } from '../core/freezes.ts'
import { noteHistory } from './call-history.ts'
import { charge } from './limits.ts'
import { unchanged, type Versioned } from '../core/records.ts'
import { beforeDeadline, moved, writeThread } from './thread-records.ts'
import type { Plan } from '../core/transact.ts'

/*
 * The effect of votes (docs/review-api.md): the thread is approved once every seat is filled. A vote can fill a
 * seat. An escalation, or a directory that lists a voter again, can fill a seat as well.
 */

/** Returns the approved thread, or undefined while a seat is empty. */
export function approved(
  thread: Thread,
  tenant: Tenant | undefined,
  { freezes, ...now }: Pick<Approval, 'at' | 'epoch'> & { readonly freezes: KnownFreezes },
): Thread | undefined {
  const seated = seatedBy(thread, tenant, { freezes, now: now.at })
  return seated && approvedBy(thread, { ...now, seated })
}

function approvedBy(thread: Thread, approval: Given): Thread {
  const { expires_ms, working_ms = expires_ms } = thread.requirement
  return moved(thread, 'quorum_met', { approval, deadline: approval.at + working_ms })
}

type Given = Required<Pick<Approval, 'at' | 'epoch' | 'seated'>>

/** The reviewers in each seat of a waiting thread, by the votes so far; undefined while a seat is empty. */
function seatedBy(
  thread: Thread,
  tenant: Tenant | undefined,
  { freezes: { freezes }, now }: { readonly freezes: KnownFreezes; readonly now: number },
): Given['seated'] | undefined {
  if (thread.status !== 'pending_review' || currentVotes(thread).length === 0) return undefined
  const { met, seats } = quorum(
    thread.requirement,
    approversOf(tenant, thread, freezes),
    now - thread.submitted_at,
  )
  return met ? seats.map(({ filledBy }) => filledBy) : undefined
}

/**
 * Charges the limits of an approval, even exhausted limits, because reviewers decided. Adds the call to the history.
 */
export function approving<T>(
  deps: Deps,
  snapshot: Snapshot | undefined,
  thread: Thread,
  plan: Plan<T>,
): Plan<T> {
  if (thread.status !== 'approved' || thread.approval === undefined) return plan
  const { at, epoch } = thread.approval
  const doer = { tenant: thread.tenant, agent: thread.agent, task: thread.task_id, tool: thread.tool }
  // the caller guards the epoch of the approval
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

/** The evidence record of the votes' outcome; empty while the thread waits. */
export function outcomeRecord(after: Thread, actor: Actor, at: number): EvidenceRecord[] {
  const type = CLOSED_AS[after.status]
  if (type === undefined) return []
  const details = {
    risk: after.risk,
    digest: after.digest,
    voters: currentVotes(after).map((one) => one.reviewer),
    waited_ms: at - after.submitted_at,
  }
  return [record(at, actor, after, { type, details })]
}

/**
 * The approval of a waiting thread whose seats were filled without another vote. Votes of an earlier epoch are not
 * enough, because the store may have counted them already and lost the outcome (S19). In this case, the thread needs
 * one more vote.
 */
export async function filledNow(
  deps: Deps,
  thread: Thread,
  freezes: KnownFreezes,
): Promise<Given | undefined> {
  const at = deps.store.now()
  const tenant = deps.policies.current()?.directory.tenants.get(thread.tenant)
  const seated = seatedBy(thread, tenant, { freezes, now: at })
  if (seated === undefined) return undefined
  const epoch = await deps.store.epoch(thread.tenant)
  return currentVotes(thread).at(-1)?.epoch === epoch ? { at, epoch, seated } : undefined
}

/** The plan that approves such a thread. The timer, a poll or a reviewer's request commits it, whichever is first. */
export async function completion(
  deps: Deps,
  read: Versioned<Thread>,
  freezes: KnownFreezes,
): Promise<Plan<Thread> | undefined> {
  const { value: thread } = read
  const now = await filledNow(deps, thread, freezes)
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
