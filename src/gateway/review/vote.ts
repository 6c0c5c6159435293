import type { VoteRequest } from '../../contract/reviewer.ts'
import { type ErrorCode, GatewayError } from '../../contract/errors.ts'
import { saysSomething } from '../../domain/comment.ts'
import type { ReviewRequirement } from '../../domain/decision.ts'
import type { Actor } from '../../domain/evidence.ts'
import { THREAD_ID } from '../../domain/id.ts'
import { eligible, groupsEver } from '../../domain/quorum.ts'
import {
  type Approval,
  currentVotes,
  isExpired,
  type Thread,
  transition,
  type Vote,
} from '../../domain/thread.ts'
import type { ReviewerEntry, Snapshot, Tenant } from '../../policy/evaluate/snapshot.ts'
import { isOwner } from './approval.ts'
import { lookedMs } from './view-time.ts'
import type { Deps } from '../core/deps.ts'
import { aboutThread, type EvidenceRecord, isoTime } from '../core/event-record.ts'
import type { Caller } from '../core/caller.ts'
import type { KnownFreezes } from '../core/caches.ts'
import { freezeGuard, freezesNow, frozenMessage } from '../admin/freezes.ts'
import { keyGuard, reviewerEntry } from '../auth/identify.ts'
import { traceOf } from '../core/trace-context.ts'
import { read, unchanged, type Versioned } from '../core/records.ts'
import { approved, approving, outcomeRecord } from './approval-effects.ts'
import { beforeDeadline, moved, writeThread } from '../core/thread-records.ts'
import { type Committed, type Plan, transact } from '../core/transact.ts'

export interface Ballot {
  readonly thread_id: string
  readonly vote: VoteRequest
  /** Digest named by If-Match: what the reviewer was shown. */
  readonly shown?: string
}

/**
 * One vote, whatever channel it came by (docs/review-api.md). Checked in this order: the thread exists, it is pending, the
 * reviewer looked at the current revision, and may vote.
 *
 * @throws GatewayError `not_found`, `not_pending`, `stale_revision`, `revision_required`, `not_eligible`, `self_review`,
 *   `already_voted`, `sign_in_required`, `unauthenticated`, `not_ready`, `store_unavailable`, `outcome_unknown`
 */
export async function vote(deps: Deps, caller: Caller, ballot: Ballot): Promise<Committed<Thread>> {
  let looked = 0
  const committed = await transact(deps, caller.tenant, async () => {
    const snapshot = deps.policies.current()
    reviewerEntry(snapshot, caller)
    const tenant = snapshot?.directory.tenants.get(caller.tenant)
    const thread = await findThread(deps, caller.tenant, ballot.thread_id)
    deps.origin?.span.refersTo(traceOf(thread.value))
    const freezes = await freezesNow(deps, caller.tenant)
    checkPending(thread.value, { now: deps.store.now(), freezes })
    checkRevision(thread.value, ballot)
    refuseObstacle(deps, caller, thread.value, freezes)
    const guards = [unchanged('thread', ballot.thread_id, thread), keyGuard(caller), freezeGuard(freezes)]
    const epoch = await deps.store.epoch(caller.tenant)
    const inTime = beforeDeadline(thread.value)
    const plan = count(deps, thread.value, { ballot, caller, tenant, epoch })
    looked = lookedMs(deps, caller, thread.value)
    return { ...approving(deps, snapshot, plan.answer, plan), guards: [...guards, { epoch }], ...inTime }
  })
  const { decision } = ballot.vote
  deps.observe({ kind: 'voted', decision, lookedMs: looked, thread_id: ballot.thread_id })
  return committed
}

/** @throws GatewayError `not_found` */
export async function findThread(deps: Deps, tenant: string, thread_id: string): Promise<Versioned<Thread>> {
  const thread = THREAD_ID.test(thread_id) ? await read(deps.store, tenant, 'thread', thread_id) : undefined
  if (thread === undefined) throw new GatewayError('not_found', 'no such thread')
  return thread
}

/** What a thread is held against, whoever asks. */
export interface Circumstances {
  readonly now: number
  readonly freezes: KnownFreezes
}

function checkPending(thread: Thread, circumstances: Circumstances): void {
  const closed = closedAs(thread, circumstances)
  if (closed !== undefined) throw new GatewayError('not_pending', `the thread is ${closed}`)
}

/** What the thread is instead of pending, whether or not somebody has noticed yet; undefined while people can vote. */
function closedAs(thread: Thread, { now, freezes }: Circumstances): string | undefined {
  if (isExpired(thread, now)) return 'expired'
  if (thread.withdrawn_at !== undefined) return 'withdrawn'
  if (transition(thread.status, 'vote_counted') === undefined) return thread.status
  return frozenMessage(freezes, thread)
}

function checkRevision(thread: Thread, { vote, shown }: Ballot): void {
  if (vote.revision === undefined && shown === undefined) {
    throw new GatewayError('revision_required', 'name the revision you looked at, in the body or by If-Match')
  }
  const stale =
    (vote.revision ?? thread.revision) !== thread.revision || (shown ?? thread.digest) !== thread.digest
  if (stale) {
    throw new GatewayError(
      'stale_revision',
      `the thread is at revision ${thread.revision}: look at it before you vote`,
    )
  }
}

/** @throws GatewayError with the obstacle that keeps the caller from voting on the thread, if there is one */
export function refuseObstacle(deps: Deps, caller: Caller, thread: Thread, freezes: KnownFreezes): void {
  const circumstances = { now: deps.store.now(), freezes }
  const obstacle = obstacleFor(deps.policies.current(), caller, thread, circumstances)
  if (obstacle) throw new GatewayError(obstacle.code, obstacle.reason)
}

export interface Obstacle {
  readonly code: ErrorCode &
    ('not_pending' | 'not_eligible' | 'self_review' | 'already_voted' | 'sign_in_required')
  readonly reason: string
}

/** Why this reviewer may not vote on the thread now, in words for the reviewer; undefined when nothing is in the way. */
export function obstacleTo(
  thread: Thread,
  reviewer: ReviewerEntry,
  tenant: Tenant | undefined,
  circumstances: Circumstances,
): Obstacle | undefined {
  const closed = closedAs(thread, circumstances)
  if (closed !== undefined) return { code: 'not_pending', reason: `the thread is ${closed}` }
  if (!eligible(thread.requirement, reviewer, circumstances.now - thread.submitted_at)) {
    const groups = thread.requirement.seats.map((seat) => seat.group).join(', ')
    return {
      code: 'not_eligible',
      reason: `this thread needs ${groups}; you are in ${listOf(reviewer.groups)}`,
    }
  }
  if (isOwner(tenant, thread, reviewer.id)) {
    return {
      code: 'self_review',
      reason: `you are an owner of \`${thread.agent}\`; somebody else has to decide`,
    }
  }
  if (currentVotes(thread).some((one) => one.reviewer === reviewer.id)) {
    return { code: 'already_voted', reason: `you have voted on revision ${thread.revision}` }
  }
  return undefined
}

/**
 * Why the caller may not vote: what stands in the way of the reviewer, and, last, of a key where somebody has to sign in.
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
  if (obstacle !== undefined || caller.via !== 'key' || thread.requirement.interactive !== true)
    return obstacle
  return {
    code: 'sign_in_required',
    reason: 'here a person has to sign in to the console; a key is not enough',
  }
}

/** Groups that are named to somebody who is in none that counts: an identity provider may know of hundreds. */
const NAMED_GROUPS = 10

function listOf(groups: readonly string[]): string {
  if (groups.length === 0) return 'no group'
  const more = groups.length - NAMED_GROUPS
  return groups.slice(0, NAMED_GROUPS).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

interface Counting {
  readonly ballot: Ballot
  readonly caller: Caller
  readonly tenant: Tenant | undefined
  /** The store's, at the vote. */
  readonly epoch: string
}

function count(deps: Deps, thread: Thread, { ballot, caller, tenant, epoch }: Counting): Plan<Thread> {
  const at = deps.store.now()
  const { decision, comment } = ballot.vote
  const cast: Vote = {
    reviewer: caller.id,
    decision,
    revision: thread.revision,
    at,
    via: caller.via,
    epoch,
    ...groupsThatCount(thread.requirement, caller),
    ...(comment === undefined ? {} : { comment }),
  }
  const counted = { ...thread, votes: [...thread.votes, cast] }
  const after = decided(counted, tenant, { at, epoch })
  const written = writeThread(thread, after, { at })
  const records = [castRecord(counted, cast), ...outcomeRecord(after, voterOf(cast), at)]
  return { answer: written.thread, writes: written.writes, notices: written.notices, evidence: records }
}

/** Groups that the identity provider vouched for and that can fill a seat: the vote is counted by them, whatever the directory says later. */
function groupsThatCount(requirement: ReviewRequirement, { session }: Caller): Pick<Vote, 'groups'> {
  if (session?.groups === undefined) return {}
  const wanted = groupsEver(requirement)
  return { groups: session.groups.filter((group) => wanted.includes(group)) }
}

/** What the thread becomes with the vote counted. One reject ends it; an approval needs every seat filled. */
function decided(thread: Thread, tenant: Tenant | undefined, now: Pick<Approval, 'at' | 'epoch'>): Thread {
  const cast = thread.votes.at(-1)
  if (cast?.decision === 'reject') return moved(thread, 'vote_reject', { message: said(cast, 'rejected') })
  if (cast?.decision === 'request_changes') {
    return moved(thread, 'vote_changes', { message: said(cast, 'asked for changes') })
  }
  return approved(thread, tenant, now) ?? moved(thread, 'vote_counted')
}

function said({ comment = '' }: Vote, what: string): string {
  return saysSomething(comment) ? comment : `A reviewer ${what} without a comment.`
}

function castRecord(thread: Thread, cast: Vote): EvidenceRecord {
  return {
    type: 'vote.cast',
    details: {
      decision: cast.decision,
      digest: thread.digest,
      via: cast.via,
      ...(cast.groups === undefined ? {} : { groups: [...cast.groups] }),
      ...(cast.comment === undefined ? {} : { comment: cast.comment }),
    },
    at: isoTime(cast.at),
    actor: voterOf(cast),
    ...aboutThread(thread),
  }
}

const voterOf = ({ reviewer: id }: Vote): Actor => ({ kind: 'reviewer', id })
