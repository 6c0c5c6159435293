import type { JsonObject } from '../../contract/json.ts'
import { displayedDigest } from '../../domain/digest.ts'
import type { ReadEvent } from '../record/read-event.ts'
import { listOf, requireThat, textOf } from '../record/require.ts'
import {
  CLOCK_SKEW_MS,
  type Ledger,
  type LedgerThread,
  type LedgerVote,
  move,
  openThread,
  requireInTime,
  wayOf,
} from './ledger.ts'
import { requireEligible, requireVouched } from './requirement.ts'

/** The law of votes (docs/review-api.md). */

interface VoteCast {
  readonly decision: 'approve' | 'reject' | 'request_changes'
  readonly digest: string
  readonly via: string
  readonly commented?: boolean | undefined
  readonly groups?: readonly string[] | undefined
  readonly displayed?: JsonObject | 'none' | undefined
}

const ENDED_BY = {
  approve: undefined,
  reject: 'review.rejected',
  request_changes: 'review.changes_requested',
} as const

export function voteCast(ledger: Ledger, record: ReadEvent<VoteCast>): void {
  const { decision, commented = false } = record.details
  const thread = openThread(ledger, record)
  requireInTime(thread, record)
  const vote = voteOf(record)
  requireEligible(thread.requirement, vote, record.at - thread.submitted_at + CLOCK_SKEW_MS)
  if (!ledger.broken.has(`reviewer:${vote.reviewer}`)) {
    const sessions = ledger.signedIn.get(wayOf(vote.reviewer, vote.via))?.groups.keys() ?? []
    requireVouched(sessions, vote, thread.requirement)
  }
  requireThat(
    !thread.votes.some(({ reviewer }) => reviewer === vote.reviewer),
    'the same reviewer has voted on this revision',
  )
  requireThat(
    thread.requirement.interactive !== true || vote.via !== 'key',
    'a key cannot vote when a sign-in is required',
  )
  requireThat(
    thread.requirement.require_comment !== true || decision !== 'reject' || commented,
    'a rejection without a comment, although its level requires one',
  )
  requireDisplayed(thread, record, vote)
  const [first = vote] = thread.votes
  requireThat(vote.digest === first.digest, 'the voters on this revision saw different content')
  requireThat(!thread.seen.includes(vote.digest), 'the voter saw an earlier revision')
  move(thread, 'vote_counted')
  thread.votes = [...thread.votes, vote]
  const type = ENDED_BY[decision]
  if (type !== undefined) ledger.due = { type, thread: record.thread ?? '' }
}

/**
 * Requires a digest of what the thread showed at that time, unless nothing was displayed.
 *
 * @throws LawBroken
 */
function requireDisplayed(
  { requirement, revision, risk: level, shown }: LedgerThread,
  { details: { displayed }, thread: thread_id = '' }: ReadEvent<VoteCast>,
  { decision, digest: revision_digest }: LedgerVote,
): void {
  if (displayed === undefined || displayed === 'none') {
    const isNeeded = requirement.require_displayed === true && decision === 'approve'
    return requireThat(!isNeeded, 'nothing was displayed, although its level requires it')
  }
  const { digest, seen, unseen, ms } = displayed
  const places = listOf(seen, 'seen').map((one) => textOf(one, 'seen'))
  for (const one of listOf(unseen, 'unseen')) textOf(one, 'unseen')
  requireThat(typeof ms === 'number' && ms >= 0, 'its time on the screen is missing')
  const known = { thread_id, revision, revision_digest, level, ...shown, seen: places }
  requireThat(digest === displayedDigest(known), 'something else was displayed than the revision of the vote')
}

function voteOf({ actor, details }: ReadEvent<VoteCast>): LedgerVote {
  const { decision, digest, via, groups } = details
  return { reviewer: actor.id, decision, digest, via, ...(groups !== undefined && { groups }) }
}
