import { type Actor, BY_FREEZING } from '../../domain/evidence.ts'
import { type Freezes, NEVER_FROZEN } from '../../domain/freeze.ts'
import { quorum } from '../../domain/quorum.ts'
import { asksOf } from '../../domain/decision.ts'
import { type Thread, transition } from '../../domain/thread.ts'
import { type Directory, wholeDirectory } from '../../policy/language/snapshot.ts'
import type { KnownFreezes } from '../core/caches.ts'
import type { Deps } from '../core/deps.ts'
import { type EvidenceRecord, record } from '../core/event-record.ts'
import { freezeGuard } from '../core/freezes.ts'
import { read as recordAt, revisionId, unchanged, type Versioned } from '../core/records.ts'
import type { Plan } from '../core/transact.ts'
import { INDEX } from '../core/indexes.ts'
import type { Write } from '../../store/store.ts'
import { demandOf, supports } from './approval.ts'
import { approversOf } from './approvers.ts'
import { requirementDetails } from './requirement-details.ts'
import { release } from './limits.ts'
import { moved, writeThread } from './thread-records.ts'

/*
 * Approvals that were not collected, and wait for reviewers again (docs/review-api.md).
 */

const BY_POLICIES: Actor = { kind: 'gateway', id: 'policies' }

/**
 * The plan for an approval that a freeze or a withdrawal took a seat from. Undefined for an approval that still holds,
 * was handed out, or lost its seat to a bundle that loaded: such an approval ends.
 */
export function seatTaken(
  deps: Deps,
  read: Versioned<Thread>,
  known: KnownFreezes,
): Plan<Thread> | undefined {
  const { value: thread } = read
  const { status, approval, requirement, submitted_at } = thread
  const snapshot = deps.policies.current()
  if (snapshot === undefined || status !== 'approved' || approval === undefined) return undefined
  if (approval.collected_at !== undefined || approval.rules !== undefined) return undefined
  const elapsed = approval.at - submitted_at
  const isMet = ({ tenants }: Directory, freezes: Freezes): boolean =>
    quorum(requirement, approversOf(tenants.get(thread.tenant), thread, freezes), elapsed).met
  if (isMet(snapshot.directory, known.freezes)) return undefined
  const byFreeze = isMet(snapshot.directory, NEVER_FROZEN)
  if (!byFreeze && !isMet(wholeDirectory(snapshot), NEVER_FROZEN)) return undefined
  return waitingAgain(deps, read, known, byFreeze ? BY_FREEZING : BY_POLICIES)
}

/**
 * The plan for a thread of which policy now asks for more than before. A waiting thread takes the stricter requirement;
 * an approval that was not collected, and whose votes are not enough, waits again. Undefined for other threads.
 *
 * @throws GatewayError `not_ready` while the thread cannot be judged
 */
export async function raise(
  deps: Deps,
  read: Versioned<Thread>,
  freezes: KnownFreezes,
): Promise<Plan<Thread> | undefined> {
  const { value: thread } = read
  const { tenant, thread_id, revision, status, approval } = thread
  const canRaise = transition(status, 'raise') !== undefined && approval?.collected_at === undefined
  const snapshot = deps.policies.current()
  if (!canRaise || snapshot === undefined) return undefined
  const asked = await recordAt(deps.store, tenant, 'revision', revisionId(thread_id, revision))
  if (asked === undefined) throw new TypeError('a thread without its revision')
  const requirement = await demandOf(deps, snapshot, thread, asked.value)
  if (requirement === undefined) return undefined
  if (approval !== undefined && supports(snapshot, thread, { requirement, freezes })) return undefined
  const at = deps.store.now()
  const policy = snapshot.revision
  const raised = { at, policy, votes: thread.votes.length, asks: asksOf(thread.requirement, requirement) }
  const details = { policy, requirement: requirementDetails(requirement) }
  const event = { type: 'requirement.raised', details } as const
  return again(
    read,
    { ...thread, requirement, raised },
    { at, freezes, event: record(at, BY_POLICIES, thread, event) },
  )
}

/** One commit: the thread waits with its earlier deadline, and the charges of the approval are reversed. */
function waitingAgain(deps: Deps, read: Versioned<Thread>, known: KnownFreezes, actor: Actor): Plan<Thread> {
  const { value: thread } = read
  const at = deps.store.now()
  const event = record(at, actor, thread, { type: 'review.resumed', details: { risk: thread.risk } })
  return again(read, thread, { at, freezes: known, event })
}

interface Again {
  readonly at: number
  readonly freezes: KnownFreezes
  readonly event: EvidenceRecord
}

function again(read: Versioned<Thread>, next: Thread, { at, freezes, event }: Again): Plan<Thread> {
  const { approval: _, ...thread } = next
  const { thread_id: member, submitted_at, requirement } = thread
  const deadline = submitted_at + requirement.expires_ms
  const evidence = [event]
  const written = writeThread(read.value, moved(thread, 'raise', { deadline }), { at, evidence })
  const { due_at } = written.thread
  // puts a leased entry of the timer back, as an announcement does
  const due: Write[] = due_at === undefined ? [] : [{ op: 'index', index: INDEX.due, member, to: due_at }]
  return {
    answer: written.thread,
    guards: [unchanged('thread', member, read), freezeGuard(freezes)],
    writes: [...written.writes, ...release(read.value), ...due],
    notices: written.notices,
    evidence,
  }
}
