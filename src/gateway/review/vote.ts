import type { Displayed, VoteRequest } from '../../contract/review-requests.ts'
import { GatewayError } from '../../contract/errors.ts'
import { saysSomething } from '../../domain/comment.ts'
import type { ReviewRequirement } from '../../domain/decision.ts'
import { type Actor, reviewerNamed } from '../../domain/evidence.ts'
import { groupsEver } from '../../domain/quorum.ts'
import type { Approval, Thread, Vote } from '../../domain/thread.ts'
import type { Guard, Write } from '../../store/store.ts'
import type { Tenant } from '../../policy/language/snapshot.ts'
import { checkDisplayed, type Recorded } from './display.ts'
import { lookedMs } from './view-time.ts'
import type { Deps } from '../core/deps.ts'
import { type EvidenceRecord, record } from '../core/event-record.ts'
import { keepsWords } from '../core/kept-words.ts'
import { type Caller, keyGuard } from '../core/caller.ts'
import type { KnownFreezes } from '../core/caches.ts'
import { freezeGuard, freezesNow, refuseFrozenReviewer } from '../core/freezes.ts'
import { reviewerEntry } from '../auth/standing.ts'
import { traceOf } from '../core/trace-context.ts'
import { unchanged } from '../core/records.ts'
import { approved, approving, outcomeRecord } from '../thread/approval-effects.ts'
import { release, withoutCharges } from '../thread/limits.ts'
import { raise } from '../thread/wait-again.ts'
import { checkPending, findThread, refuseObstacle } from './obstacles.ts'
import { beforeDeadline, moved, writeThread } from '../thread/thread-records.ts'
import { type Committed, type Plan, transact } from '../core/transact.ts'

export interface Ballot {
  readonly thread_id: string
  readonly vote: VoteRequest
  /** The digest in If-Match: the revision that the reviewer saw. */
  readonly shown?: string
  /** True for a part of a vote on several calls. */
  readonly together?: true
  /** Checks a click in a chat, as part of the vote. */
  readonly clicked?: (thread: Thread) => Promise<Clicked>
}

/** The parts that a click adds to its vote. */
export interface Clicked {
  readonly displayed: Displayed
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
}

/**
 * Casts one vote from any channel (docs/review-api.md). The checks run in this order: the thread exists, it is pending,
 * the reviewer saw the current revision, and may vote.
 *
 * @throws GatewayError `not_found`, `not_pending`, `stale_revision`, `revision_required`, `not_eligible`,
 * `self_review`, `already_voted`, `sign_in_required`, `comment_required`, `vote_alone`, `displayed_required`,
 * `unauthenticated`, `not_ready`, `store_unavailable`, `outcome_unknown`
 */
export async function vote(deps: Deps, caller: Caller, ballot: Ballot): Promise<Committed<Thread>> {
  for (;;) {
    const { answer, ...receipt } = await voteOnce(deps, caller, ballot)
    if (answer !== 'raised') return { answer, ...receipt }
  }
}

/** Counts the vote. A vote that would approve the thread first raises what policy now asks for, and is judged again. */
async function voteOnce(deps: Deps, caller: Caller, ballot: Ballot): Promise<Committed<Thread | 'raised'>> {
  let looked = 0
  const rejects = ballot.vote.decision === 'reject'
  const committed = await transact(deps, caller.tenant, async (): Promise<Plan<Thread | 'raised'>> => {
    const snapshot = deps.policies.current()
    reviewerEntry(snapshot, caller)
    const tenant = snapshot?.directory.tenants.get(caller.tenant)
    const thread = await findThread(deps, caller.tenant, ballot.thread_id)
    deps.origin?.span?.refersTo(traceOf(thread.value))
    const freezes = await freezesNow(deps, caller.tenant)
    refuseFrozenReviewer(freezes, caller.id)
    checkPending(thread.value, { now: deps.store.now(), freezes, rejects })
    checkRevision(thread.value, ballot)
    refuseObstacle(deps, caller, thread.value, { freezes, rejects })
    checkComment(thread.value, ballot)
    checkAlone(thread.value, ballot)
    const clicked = await ballot.clicked?.(thread.value)
    const shown = clicked ? { ...ballot.vote, displayed: clicked.displayed } : ballot.vote
    const displayed = await checkDisplayed(deps, caller, thread.value, shown)
    const guards = [unchanged('thread', ballot.thread_id, thread), keyGuard(caller), freezeGuard(freezes)]
    const epoch = await deps.store.epoch(caller.tenant)
    const inTime = thread.value.approval?.collected_at === undefined ? beforeDeadline(thread.value) : {}
    const plan = count(deps, thread.value, { ballot, caller, tenant, freezes, epoch, displayed })
    const raising = plan.answer.status === 'approved' ? await raise(deps, thread, freezes) : undefined
    if (raising)
      return { ...raising, answer: 'raised', guards: [...(raising.guards ?? []), keyGuard(caller)] }
    looked = lookedMs(deps, caller, thread.value)
    const counted = approving(deps, snapshot, plan.answer, plan)
    return { ...withClick(counted, [...guards, { epoch }], clicked), ...inTime }
  })
  const { decision } = ballot.vote
  if (committed.answer !== 'raised')
    deps.observe({ kind: 'voted', decision, lookedMs: looked, thread_id: ballot.thread_id })
  return committed
}

/** The plan of a vote with the record of its click. */
function withClick(
  { writes = [], ...plan }: Plan<Thread>,
  guards: readonly Guard[],
  clicked: Clicked | undefined,
): Plan<Thread> {
  const { guards: more = [], writes: others = [] } = clicked ?? {}
  return { ...plan, guards: [...guards, ...more], writes: [...writes, ...others] }
}

function checkRevision(thread: Thread, { vote, shown }: Ballot): void {
  if (vote.revision === undefined && shown === undefined) {
    throw new GatewayError(
      'revision_required',
      'name the revision that you looked at, in the body or in If-Match',
    )
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

function checkComment({ requirement, risk }: Thread, { vote: { decision, comment = '' } }: Ballot): void {
  if (requirement.require_comment !== true || decision !== 'reject' || saysSomething(comment)) return
  throw new GatewayError('comment_required', `a rejection of a call of ${risk} risk needs a comment`)
}

function checkAlone({ risk }: Thread, { together }: Ballot): void {
  if (together === true && risk === 'critical')
    throw new GatewayError('vote_alone', 'a call of critical risk needs a vote of its own')
}

interface Counting {
  readonly ballot: Ballot
  readonly caller: Caller
  readonly tenant: Tenant | undefined
  readonly freezes: KnownFreezes
  /** Epoch of the store at the vote. */
  readonly epoch: string
  readonly displayed: Recorded
}

function count(
  deps: Deps,
  thread: Thread,
  { ballot, caller, tenant, freezes, epoch, displayed }: Counting,
): Plan<Thread> {
  const at = deps.store.now()
  const { decision, comment } = ballot.vote
  const cast: Vote = {
    reviewer: caller.id,
    decision,
    revision: thread.revision,
    at,
    via: caller.via,
    epoch,
    ...(freezes.record && { freeze_epoch: freezes.freezes.epoch }),
    ...groupsThatCount(deps, thread.requirement, caller),
    ...(displayed.extent === 'all' ? { displayed: true as const } : {}),
    ...(displayed.display && { ms: displayed.display.ms }),
    ...(comment === undefined ? {} : { comment }),
  }
  const counted = { ...thread, votes: [...thread.votes, cast] }
  const after = decided(counted, tenant, { at, epoch, freezes })
  const evidence = [
    castRecord(counted, cast, { displayed, keeps: keepsWords(deps, 'comments') }),
    ...outcomeRecord(after, voterOf(cast), at),
  ]
  const written = writeThread(thread, after, { at, evidence })
  const writes = [...written.writes, ...(after.status === 'rejected' ? release(thread) : [])]
  return { answer: written.thread, writes, notices: written.notices, evidence }
}

/**
 * The reviewer's groups from the identity provider that can fill a seat of the thread, or of any level. A later bundle
 * may ask for the others. The vote keeps these groups, even if the directory changes later.
 */
function groupsThatCount(
  deps: Deps,
  requirement: ReviewRequirement,
  { session }: Caller,
): Pick<Vote, 'groups'> {
  if (session?.groups === undefined) return {}
  const wanted = [...groupsEver(requirement), ...(deps.policies.current()?.levelGroups ?? [])]
  return { groups: session.groups.filter((group) => wanted.includes(group)) }
}

/** The thread with the vote counted. One reject ends the thread. An approval requires that every seat is filled. */
function decided(
  thread: Thread,
  tenant: Tenant | undefined,
  now: Pick<Approval, 'at' | 'epoch'> & { readonly freezes: KnownFreezes },
): Thread {
  const cast = thread.votes.at(-1)
  if (cast?.decision === 'reject')
    return moved(withoutCharges(thread), 'vote_reject', { message: said(cast, 'rejected') })
  if (cast?.decision === 'request_changes') {
    return moved(thread, 'vote_changes', { message: said(cast, 'asked for changes') })
  }
  return approved(thread, tenant, now) ?? moved(thread, 'vote_counted')
}

function said({ comment = '' }: Vote, what: string): string {
  return saysSomething(comment) ? comment : `A reviewer ${what} without a comment.`
}

interface Shown {
  readonly displayed: Recorded
  /** True when evidence keeps the comment. */
  readonly keeps: boolean
}

function castRecord(thread: Thread, cast: Vote, { displayed, keeps }: Shown): EvidenceRecord {
  const { decision, via, groups, comment } = cast
  const { extent, display } = displayed
  const disclosed = { ...(keeps ? { comment } : {}), display }
  const commented = saysSomething(comment ?? '') ? true : undefined
  const details = { decision, digest: thread.digest, via, groups, commented, displayed: extent }
  return record(cast.at, voterOf(cast), thread, { type: 'vote.cast', details, disclosed })
}

const voterOf = ({ reviewer }: Vote): Actor => reviewerNamed(reviewer)
