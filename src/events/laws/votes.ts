import { displayedDigest } from '../../domain/digest.ts'
import type { ReadEvent } from '../record/read-event.ts'
import { listOf, objectOf, requireThat, textOf } from '../record/require.ts'
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

const ENDED_BY: Readonly<Record<string, 'review.rejected' | 'review.changes_requested' | undefined>> = {
  approve: undefined,
  reject: 'review.rejected',
  request_changes: 'review.changes_requested',
}

export function voteCast(ledger: Ledger, record: ReadEvent): void {
  const thread = openThread(ledger, record)
  requireInTime(thread, record)
  const vote = voteOf(record)
  requireEligible(thread.requirement, vote, record.at - thread.submitted_at + CLOCK_SKEW_MS)
  if (!ledger.broken.has(`reviewer:${vote.reviewer}`)) {
    const sessions = ledger.signedIn.get(wayOf(vote.reviewer, vote.via))?.groups.keys() ?? []
    requireVouched(sessions, vote, thread.requirement)
  }
  requireThat(Object.hasOwn(ENDED_BY, vote.decision), `${JSON.stringify(vote.decision)} is not a vote`)
  requireThat(
    !thread.votes.some(({ reviewer }) => reviewer === vote.reviewer),
    'the same reviewer has voted on this revision',
  )
  requireThat(
    thread.requirement.interactive !== true || vote.via !== 'key',
    'a key cannot vote when a sign-in is required',
  )
  requireThat(
    thread.requirement.require_comment !== true || vote.decision !== 'reject' || /\S/.test(commentOf(record)),
    'a rejection without a comment, although its level requires one',
  )
  requireDisplayed(thread, record, vote)
  const [first = vote] = thread.votes
  requireThat(vote.digest === first.digest, 'the voters on this revision saw different content')
  requireThat(!thread.seen.includes(vote.digest), 'the voter saw an earlier revision')
  move(thread, 'vote_counted')
  thread.votes = [...thread.votes, vote]
  const type = ENDED_BY[vote.decision]
  if (type !== undefined) ledger.due = { type, thread: record.thread ?? '' }
}

/**
 * Requires a digest of what the thread showed at that time. Votes of earlier versions say nothing about it.
 *
 * @throws LawBroken
 */
function requireDisplayed(
  { requirement, revision, risk: level, shown }: LedgerThread,
  { details, thread: thread_id = '' }: ReadEvent,
  { decision, digest: revision_digest }: LedgerVote,
): void {
  const { displayed } = details
  if (displayed === undefined || displayed === 'none') {
    const isNeeded = requirement.require_displayed === true && decision === 'approve'
    return requireThat(!isNeeded, 'nothing was displayed, although its level requires it')
  }
  const { digest, seen, unseen, ms } = objectOf(displayed, 'displayed')
  const places = listOf(seen, 'seen').map((one) => textOf(one, 'seen'))
  for (const one of listOf(unseen, 'unseen')) textOf(one, 'unseen')
  requireThat(typeof ms === 'number' && ms >= 0, 'its time on the screen is missing')
  const known = { thread_id, revision, revision_digest, level, ...shown, seen: places }
  requireThat(digest === displayedDigest(known), 'something else was displayed than the revision of the vote')
}

const commentOf = ({ details: { comment } }: ReadEvent): string =>
  typeof comment === 'string' ? comment : ''

function voteOf({ actor, details }: ReadEvent): LedgerVote {
  const [decision, digest, via] = ['decision', 'digest', 'via'].map((name) => textOf(details[name], name))
  const { groups } = details
  return {
    reviewer: actor.id,
    decision: decision ?? '',
    digest: digest ?? '',
    via: via ?? '',
    ...(groups === undefined ? {} : { groups: listOf(groups, 'groups').map((one) => textOf(one, 'groups')) }),
  }
}
