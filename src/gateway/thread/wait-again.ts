import { type Actor, BY_FREEZING } from '../../domain/evidence.ts'
import { type Freezes, NEVER_FROZEN } from '../../domain/freeze.ts'
import { quorum } from '../../domain/quorum.ts'
import type { Thread } from '../../domain/thread.ts'
import { type Directory, wholeDirectory } from '../../policy/language/snapshot.ts'
import type { KnownFreezes } from '../core/caches.ts'
import type { Deps } from '../core/deps.ts'
import { record } from '../core/event-record.ts'
import { freezeGuard } from '../core/freezes.ts'
import { unchanged, type Versioned } from '../core/records.ts'
import type { Plan } from '../core/transact.ts'
import { approversOf } from './approvers.ts'
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

/** One commit: the thread waits with its earlier deadline, and the charges of the approval are reversed. */
function waitingAgain(deps: Deps, read: Versioned<Thread>, known: KnownFreezes, actor: Actor): Plan<Thread> {
  const { approval: _, ...thread } = read.value
  const at = deps.store.now()
  const deadline = thread.submitted_at + thread.requirement.expires_ms
  const evidence = [record(at, actor, thread, { type: 'review.resumed', details: { risk: thread.risk } })]
  const written = writeThread(read.value, moved(thread, 'raise', { deadline }), { at, evidence })
  return {
    answer: written.thread,
    guards: [unchanged('thread', thread.thread_id, read), freezeGuard(known)],
    writes: [...written.writes, ...release(read.value)],
    notices: written.notices,
    evidence,
  }
}
