import { displayedDigest } from '../../domain/digest.ts'
import { isSignIn } from '../../domain/session.ts'
import type { ReadEvent } from '../record/read-event.ts'
import { listOf, objectOf, requireThat, textOf } from '../record/require.ts'
import {
  CLOCK_SKEW_MS,
  type Ledger,
  type LedgerThread,
  type LedgerVote,
  move,
  requireInTime,
  standingVotes,
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
  readonly displayed: 'all' | 'some' | 'none'
}

const ENDED_BY = {
  approve: undefined,
  reject: 'review.rejected',
  request_changes: 'review.changes_requested',
} as const

export function voteCast(ledger: Ledger, record: ReadEvent<VoteCast>, thread: LedgerThread): void {
  const { decision, commented = false } = record.details
  const isTakenBack = decision === 'reject' && thread.status === 'approved'
  if (isTakenBack) requireUnused(thread)
  if (thread.approval?.collected === undefined) requireInTime(thread, record)
  const vote = voteOf(ledger, record)
  requireVoter(ledger, record, { thread, vote })
  requireManner(thread, vote, commented)
  requireDisplayed(ledger, thread, record)
  const [first = vote] = thread.votes
  requireThat(vote.digest === first.digest, 'the voters on this revision saw different content')
  requireThat(!thread.seen.includes(vote.digest), 'the voter saw an earlier revision')
  if (!isTakenBack) move(thread, 'vote_counted')
  thread.votes = [...thread.votes.filter(({ reviewer }) => reviewer !== vote.reviewer), vote]
  const type = ENDED_BY[decision]
  if (type !== undefined) ledger.due = { type, thread: record.thread ?? '' }
}

/** Requires a reviewer who may vote: eligible, signed in, and without another vote that counts. @throws LawBroken */
function requireVoter(
  ledger: Ledger,
  record: ReadEvent<VoteCast>,
  { thread, vote }: { readonly thread: LedgerThread; readonly vote: LedgerVote },
): void {
  const earlier = standingVotes(ledger, thread).find(({ reviewer }) => reviewer === vote.reviewer)
  const isOwn = vote.decision === 'reject' && earlier !== undefined
  if (!isOwn) requireEligible(thread.requirement, vote, record.at - thread.submitted_at + CLOCK_SKEW_MS)
  if (!ledger.broken.has(`reviewer:${vote.reviewer}`)) {
    const sessions = ledger.signedIn.get(wayOf(vote.reviewer, vote.via))?.groups.keys() ?? []
    requireVouched(sessions, vote, thread.requirement)
  }
  requireThat(
    isOwn || earlier === undefined || earlier.raised === true,
    'the same reviewer has voted on this revision',
  )
}

/** Requires the sign-in and the comment of the level. A rejection of an approval needs no sign-in. @throws LawBroken */
function requireManner({ status, requirement }: LedgerThread, vote: LedgerVote, commented: boolean): void {
  requireThat(
    status === 'approved' || requirement.interactive !== true || isSignIn(vote.via),
    'only a sign-in to the console can vote when one is required',
  )
  requireThat(
    requirement.require_comment !== true || vote.decision !== 'reject' || commented,
    'a rejection without a comment, although its level requires one',
  )
}

/** Requires an approval on which the agent cannot have acted. @throws LawBroken */
function requireUnused({ approval }: LedgerThread): void {
  const used = approval?.redeemed === true || (approval?.collected === true && approval.token === undefined)
  requireThat(!used, 'its approval had been used')
}

/**
 * Requires the display that the level asks for. Where the export has the places, it requires their digest to be of what
 * the thread showed at that time.
 *
 * @throws LawBroken
 */
function requireDisplayed(
  ledger: Ledger,
  { requirement, revision, risk: level, shown }: LedgerThread,
  { actor, details, disclosed = {}, thread: thread_id = '' }: ReadEvent<VoteCast>,
): void {
  const { displayed, decision, digest: revision_digest } = details
  const isNeeded = requirement.require_displayed === true && decision === 'approve'
  requireThat(!isNeeded || displayed === 'all', 'not all was displayed, although its level requires it')
  const { display } = disclosed
  const { checked, unchecked } = ledger.displays
  if (display === undefined) {
    if (displayed !== 'none') ledger.displays = { checked, unchecked: unchecked + 1 }
    return
  }
  const { digest, seen, unseen, ms } = objectOf(display, 'its display')
  const places = listOf(seen, 'seen').map((one) => textOf(one, 'seen'))
  for (const one of listOf(unseen, 'unseen')) textOf(one, 'unseen')
  requireThat(typeof ms === 'number' && ms >= 0, 'its time on the screen is missing')
  const known = { thread_id, revision, revision_digest, level, reviewer: actor.id, ...shown, seen: places }
  requireThat(
    digest === displayedDigest(known),
    'something else was displayed than the revision of the vote, or to another reviewer',
  )
  ledger.displays = { checked: checked + 1, unchecked }
}

function voteOf({ freezes }: Ledger, { actor, details }: ReadEvent<VoteCast>): LedgerVote {
  const { decision, digest, via, groups } = details
  const displayed = details.displayed === 'all'
  const { epoch: freeze_epoch } = freezes
  return {
    reviewer: actor.id,
    decision,
    digest,
    via,
    displayed,
    freeze_epoch,
    ...(groups !== undefined && { groups }),
  }
}
