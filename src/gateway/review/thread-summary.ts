import { defined } from '../../contract/defined.ts'
import type { ThreadSummary } from '../../contract/reviewer.ts'
import { groupsBy, quorum, type Quorum } from '../../domain/quorum.ts'
import { changedAt, claimOf, currentVotes, isUsed, type Thread } from '../../domain/thread.ts'
import type { Snapshot, Tenant } from '../../policy/language/snapshot.ts'
import { approversOf, isFillable, NOT_FILLABLE } from '../thread/approvers.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { askedOf } from '../thread/asked.ts'
import { alikeTag, equalTag } from '../thread/equal-calls.ts'
import { shownReason } from '../thread/reasons.ts'
import { isoTime } from '../core/event-record.ts'
import type { KnownFreezes } from '../core/caches.ts'
import { type KnownLegalHolds, legalHoldView } from '../core/legal-holds.ts'
import { shownHeading } from '../thread/heading.ts'
import { obstacleFor } from './obstacles.ts'

export interface Summarised {
  readonly caller: Caller
  readonly thread: Thread
  readonly freezes: KnownFreezes
  readonly holds: KnownLegalHolds
}

/** A thread as lists show it to the caller. */
export function summaryOf(
  deps: Deps,
  snapshot: Snapshot | undefined,
  { caller, thread, freezes, holds }: Summarised,
): ThreadSummary {
  const tenant = snapshot?.directory.tenants.get(thread.tenant)
  const seats = quorumOf(deps, tenant, { thread, freezes }).seats
  const now = deps.store.now()
  return {
    thread_id: thread.thread_id,
    task_id: thread.task_id,
    status: thread.status,
    revision: thread.revision,
    risk: thread.risk,
    tool_name: thread.tool,
    heading: shownHeading(snapshot, thread.tool, thread.heading),
    agent: thread.agent,
    ...(thread.title === undefined ? {} : { subject: thread.title }),
    message: thread.message,
    created_at: isoTime(thread.created_at),
    ...(thread.deadline === undefined ? {} : { deadline: isoTime(thread.deadline) }),
    groups: thread.requirement.seats.map((seat) => seat.group),
    escalated_to: [...new Set(seats.flatMap((seat) => seat.escalatedTo))],
    approvals: {
      given: seats.reduce((sum, seat) => sum + seat.filledBy.length, 0),
      required: seats.reduce((sum, seat) => sum + seat.approvals, 0),
    },
    updated_at: isoTime(changedAt(thread)),
    ...(thread.withdrawn_at === undefined ? {} : { withdrawn_at: isoTime(thread.withdrawn_at) }),
    mine: obstacleFor(snapshot, caller, thread, { now, freezes }) === undefined,
    ...defined({ equal: equalTag(deps, thread), alike: alikeTag(thread) }),
    ...askedView(deps, thread),
    ...(thread.because && { because: shownReason(snapshot, thread.tool, thread.because) }),
    ...endView(thread, tenant),
    ...raisedView(thread, tenant, freezes),
    ...claimView(thread, tenant, now),
    ...legalHoldOn(holds, thread),
  }
}

/**
 * The current seats. An unused approval is judged by the current directory, because the approval ends when a voter
 * leaves. A used approval keeps the seats that it had at the time of approval.
 */
export function quorumOf(
  deps: Deps,
  tenant: Tenant | undefined,
  { thread, freezes: { freezes } }: Pick<Summarised, 'thread' | 'freezes'>,
): Quorum {
  const approvers = approversOf(tenant, thread, freezes)
  const today = quorum(thread.requirement, approvers, waitedMs(thread, deps.store.now()))
  const { approval } = thread
  const seated = approval && isUsed(approval) ? approval.seated : undefined
  if (seated === undefined) return today
  return { met: true, seats: today.seats.map((seat, i) => ({ ...seat, filledBy: seated[i] ?? [] })) }
}

/** True when the group's reviewers may approve, or could do so when the thread was decided. */
export function mayApprove(thread: Thread, group: string, now: number): boolean {
  return groupsBy(thread.requirement, waitedMs(thread, now)).includes(group)
}

/** The time that the current revision has waited, until now or until its decision. */
function waitedMs(thread: Thread, now: number): number {
  const waits = thread.status === 'pending_review'
  return (thread.approval?.at ?? (waits ? now : changedAt(thread))) - thread.submitted_at
}

function legalHoldOn(holds: KnownLegalHolds, thread: Thread): Pick<ThreadSummary, 'legal_hold'> {
  const hold = holds.over(thread)
  return hold === undefined ? {} : { legal_hold: legalHoldView(thread.tenant, hold) }
}

function raisedView(
  thread: Thread,
  tenant: Tenant | undefined,
  { freezes }: KnownFreezes,
): Pick<ThreadSummary, 'raised'> {
  const { raised, requirement } = thread
  if (raised === undefined) return {}
  const fillable = isFillable(tenant, thread, { requirement, freezes })
  const asks = fillable ? raised.asks : `${raised.asks}, ${NOT_FILLABLE}`
  return { raised: { at: isoTime(raised.at), asks, fillable } }
}

const COMMENT_CHARS = 200

/** The votes on a thread that no longer waits, and the time when its approval was used. */
function endView(thread: Thread, tenant: Tenant | undefined): Pick<ThreadSummary, 'decided_by' | 'used_at'> {
  const votes = currentVotes(thread)
  if (thread.status === 'pending_review' || votes.length === 0) return {}
  const { collected_at, redeemed_at } = thread.approval ?? {}
  const used = thread.approval && isUsed(thread.approval) ? (redeemed_at ?? collected_at) : undefined
  return {
    decided_by: votes.map(({ reviewer, decision, comment, at, ms }) => ({
      reviewer,
      ...nameOf(tenant, reviewer),
      decision,
      ...defined({ comment: comment?.slice(0, COMMENT_CHARS) }),
      at: isoTime(at),
      ...defined({ ms }),
    })),
    ...(used === undefined ? {} : { used_at: isoTime(used) }),
  }
}

function claimView(thread: Thread, tenant: Tenant | undefined, now: number): Pick<ThreadSummary, 'claim'> {
  const claim = claimOf(thread, now)
  if (claim === undefined) return {}
  const { reviewer, expires_at } = claim
  return { claim: { reviewer, ...nameOf(tenant, reviewer), expires_at: isoTime(expires_at) } }
}

function askedView(deps: Deps, thread: Thread): Pick<ThreadSummary, 'asked_at' | 'asks_every_ms'> {
  const asked = askedOf(deps, thread)
  return asked ? { asked_at: isoTime(asked.at), ...defined({ asks_every_ms: asked.everyMs }) } : {}
}

/** The reviewer's name, if the directory still contains the reviewer. */
export function nameOf(tenant: Tenant | undefined, reviewer: string): { readonly name?: string } {
  const name = tenant?.reviewers.get(reviewer)?.name
  return name === undefined ? {} : { name }
}
