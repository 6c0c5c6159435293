import { type ErrorCode, GatewayError } from '../../contract/errors.ts'
import { THREAD_ID } from '../../domain/id.ts'
import { isReviewerFrozen, isVoidVote } from '../../domain/freeze.ts'
import { isSignIn } from '../../domain/session.ts'
import { eligible } from '../../domain/quorum.ts'
import { currentVotes, isExpired, isUsed, type Thread, transition, type Vote } from '../../domain/thread.ts'
import type { ReviewerEntry, Snapshot, Tenant } from '../../policy/language/snapshot.ts'
import { frozenMessage } from '../core/freezes.ts'
import { reviewerEntry } from '../auth/standing.ts'
import type { KnownFreezes } from '../core/caches.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { read, type Versioned } from '../core/records.ts'
import { isoTime } from '../core/event-record.ts'
import { approversOf, isOwner, isSubject } from '../thread/approvers.ts'

/** The thread. @throws GatewayError `not_found` */
export async function findThread(deps: Deps, tenant: string, thread_id: string): Promise<Versioned<Thread>> {
  const thread = THREAD_ID.test(thread_id) ? await read(deps.store, tenant, 'thread', thread_id) : undefined
  if (thread === undefined) throw new GatewayError('not_found', 'no such thread')
  return thread
}

/** Conditions that apply to every voter. */
export interface Circumstances {
  readonly now: number
  readonly freezes: KnownFreezes
  /** True for a rejection, which also takes back an approval that was not used. */
  readonly rejects?: boolean
}

/** Refuses a thread on which reviewers cannot vote. @throws GatewayError `not_pending` */
export function checkPending(thread: Thread, circumstances: Circumstances): void {
  const closed = closedAs(thread, circumstances)
  if (closed !== undefined) throw new GatewayError('not_pending', closed)
}

/** The state of a closed thread, even before its end is recorded; undefined while reviewers can vote. */
export function closedAs(thread: Thread, { now, freezes, rejects }: Circumstances): string | undefined {
  const { status, approval } = thread
  if (isExpired(thread, now)) return 'the thread is expired'
  if (thread.withdrawn_at !== undefined) return 'the thread is withdrawn'
  const used =
    rejects && approval && isUsed(approval) ? (approval.redeemed_at ?? approval.collected_at) : undefined
  if (used !== undefined) return `its approval was used at ${minuteOf(used)}; the call may have run`
  if (transition(status, rejects ? 'vote_reject' : 'vote_counted') === undefined)
    return `the thread is ${status}`
  const frozen = frozenMessage(freezes, thread)
  return frozen && `the thread is ${frozen}`
}

/** As `2026-03-02 14:05 UTC`. */
const minuteOf = (ms: number): string => `${isoTime(ms).slice(0, 16).replace('T', ' ')} UTC`

/** @throws GatewayError with the obstacle that keeps the caller from voting, if any */
export function refuseObstacle(
  deps: Deps,
  caller: Caller,
  thread: Thread,
  how: Omit<Circumstances, 'now'>,
): void {
  const circumstances = { now: deps.store.now(), ...how }
  const obstacle = obstacleFor(deps.policies.current(), caller, thread, circumstances)
  if (obstacle) throw new GatewayError(obstacle.code, obstacle.reason)
}

export interface Obstacle {
  readonly code: ErrorCode &
    ('not_pending' | 'not_eligible' | 'self_review' | 'already_voted' | 'sign_in_required')
  readonly reason: string
}

/**
 * The reason why this reviewer may not vote on the thread now, worded for the reviewer; undefined when the reviewer may
 * vote.
 */
export function obstacleTo(
  thread: Thread,
  reviewer: ReviewerEntry,
  tenant: Tenant | undefined,
  circumstances: Circumstances,
): Obstacle | undefined {
  const { freezes } = circumstances.freezes
  const closed = closedAs(thread, circumstances)
  if (closed !== undefined) return { code: 'not_pending', reason: closed }
  const vote = currentVotes(thread).find((one) => one.reviewer === reviewer.id && !isVoidVote(freezes, one))
  if (circumstances.rejects && vote?.decision === 'approve') return undefined
  if (!eligible(thread.requirement, reviewer, circumstances.now - thread.submitted_at)) {
    const groups = thread.requirement.seats.map((seat) => seat.group).join(', ')
    return {
      code: 'not_eligible',
      reason: `this thread needs ${groups}; you are in ${listOf(reviewer.groups)}`,
    }
  }
  if (isReviewerFrozen(freezes, reviewer.id))
    return { code: 'not_eligible', reason: 'you are frozen; another reviewer has to decide' }
  if (isOwner(tenant, thread, reviewer.id)) {
    return {
      code: 'self_review',
      reason: `you are an owner of \`${thread.agent}\`; another reviewer has to decide`,
    }
  }
  if (!circumstances.rejects && isSubject(tenant, thread, reviewer)) {
    return {
      code: 'self_review',
      reason:
        'the agent says that it works for you; you may reject the call, and another reviewer has to approve',
    }
  }
  if (vote !== undefined && standsInTheWay(thread, vote, { tenant, ...circumstances })) {
    return { code: 'already_voted', reason: `you have voted on revision ${thread.revision}` }
  }
  return undefined
}

/** False for a vote of before a raise that no longer fills a seat: its reviewer may vote again. */
function standsInTheWay(
  thread: Thread,
  vote: Vote,
  { tenant, now, freezes }: Circumstances & { readonly tenant: Tenant | undefined },
): boolean {
  if (thread.raised === undefined || thread.votes.indexOf(vote) >= thread.raised.votes) return true
  const counted = approversOf(tenant, { ...thread, votes: [vote] }, freezes.freezes)
  return counted.some((one) => eligible(thread.requirement, one, now - thread.submitted_at))
}

/**
 * The reason why the caller may not vote: the reviewer's obstacle or, checked last, a key where a session is required.
 *
 * @throws GatewayError `unauthenticated`, `not_ready`
 */
export function obstacleFor(
  snapshot: Snapshot | undefined,
  caller: Caller,
  thread: Thread,
  circumstances: Circumstances,
): Obstacle | undefined {
  const tenant = snapshot?.directory.tenants.get(caller.tenant)
  const obstacle = obstacleTo(thread, reviewerEntry(snapshot, caller), tenant, circumstances)
  if (
    obstacle !== undefined ||
    thread.status === 'approved' ||
    isSignIn(caller.via) ||
    thread.requirement.interactive !== true
  )
    return obstacle
  return {
    code: 'sign_in_required',
    reason: `this needs a sign-in to the console; a ${caller.via === 'key' ? 'key' : 'chat'} is not enough`,
  }
}

/** Maximum number of groups listed to a reviewer without a matching group. An identity provider may report hundreds. */
const NAMED_GROUPS = 10

function listOf(groups: readonly string[]): string {
  if (groups.length === 0) return 'no group'
  const more = groups.length - NAMED_GROUPS
  return groups.slice(0, NAMED_GROUPS).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
