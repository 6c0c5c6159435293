import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../contract/json.ts'
import {
  maxRisk,
  raisedRequirement,
  type ReviewRequirement,
  type Risk,
  type Verdict,
} from '../../domain/decision.ts'
import { BY_FREEZE, NO_BUNDLE } from '../../domain/evidence.ts'
import { freezeOf } from '../../domain/freeze.ts'
import { type Judged, requireVerdict } from './verdict.ts'
import type { ReadEvent } from '../record/read-event.ts'
import { msOf, requireThat, textOf } from '../record/require.ts'
import { givingWayTo, requireEscalated, requireQuorum, requireTighter, requirementOf } from './requirement.ts'
import {
  countedVotes,
  requireInTime,
  move,
  CLOCK_SKEW_MS,
  standingVotes,
  threadOf,
  type Ledger,
  type LedgerThread,
} from './ledger.ts'

/*
 * The laws of decisions and reviews (docs/agent-api.md and docs/review-api.md). Each law checks one record against the
 * ledger, and enters the record's changes. A law throws LawBroken for an act that no gateway can have performed.
 */

interface Decided extends Judged {
  readonly by: readonly string[]
  readonly risk: Risk
  readonly policy_risk: Risk
  readonly claimed_risk?: Risk | undefined
  readonly verdict: Verdict
  readonly requirement?: JsonObject | undefined
  readonly hashed?: boolean | undefined
  readonly template?: string | undefined
  readonly outcome_by?: string | undefined
  readonly fault?: string | undefined
}

type DecisionEvent = ReadEvent<Decided>

export function decisionAllowed(ledger: Ledger, record: DecisionEvent): void {
  decidedAtOnce(ledger, record, 'allow')
  requireAllowable(ledger, record)
  const { actor, task = '', tool = '', details } = record
  if (details.outcome_by !== undefined) ledger.expected.set(ledger.records, { agent: actor.id, task, tool })
  ledger.allowed += 1
}

/** An allowed call of a tool whose calls all need a proof. The rule approves its thread in the same commit. */
export function decisionApproved(ledger: Ledger, record: DecisionEvent): void {
  decided(ledger, record, 'allow')
  requireAllowable(ledger, record)
  const { expires_ms } = record.details.requirement ?? {}
  requireThat(typeof expires_ms === 'number' && expires_ms > 0, 'its thread would never expire')
  enterThread(ledger, record, {
    status: 'approved',
    requirement: { seats: [], expires_ms, remind_after_ms: [] },
    approval: { at: record.at },
  })
}

function requireAllowable(ledger: Ledger, record: DecisionEvent): void {
  requireThat(record.details.fault === undefined, 'the rules engine had failed')
  requireThat(!isFrozen(ledger, record), 'its agent, tool or tenant was frozen')
}

export function decisionRejected(ledger: Ledger, record: DecisionEvent): void {
  decidedAtOnce(ledger, record, 'reject')
  const { by, policy } = record.details
  // a rule may also have that name, but policy is not evaluated during a freeze
  const because = by.includes(BY_FREEZE) && policy === NO_BUNDLE
  requireThat(
    because === isFrozen(ledger, record),
    because ? 'nothing was frozen' : 'a freeze was in force, but the record does not say so',
  )
  ledger.rejected += 1
}

export function reviewPending(ledger: Ledger, record: DecisionEvent): void {
  decided(ledger, record, 'review')
  requireThat(!isFrozen(ledger, record), 'its agent, tool or tenant was frozen')
  const requirement = requirementIn(record)
  enterThread(ledger, record, { status: 'pending_review', requirement })
}

/** Enters the thread that the record opens. */
function enterThread(
  ledger: Ledger,
  record: DecisionEvent,
  opened: Pick<LedgerThread, 'status' | 'requirement' | 'approval'>,
): void {
  const id = textOf(record.thread, 'thread_id')
  requireThat(!ledger.threads.has(id), 'its thread was opened before')
  requireThat(record.revision === 1, 'a thread begins with revision 1')
  ledger.threads.set(id, {
    agent: record.actor.id,
    task: textOf(record.task, 'task_id'),
    tool: textOf(record.tool, 'tool'),
    freeze_epoch: ledger.freezes.epoch,
    hashed: isHashed(record.details),
    opened_at: record.at,
    seen: [],
    happened: [],
    ...revisionIn(record),
    ...opened,
  })
}

export function reviewRevised(ledger: Ledger, record: DecisionEvent, thread: LedgerThread): void {
  const { verdict, policy_risk } = record.details
  requireThat(
    isHashed(record.details) === thread.hashed,
    'its thread takes revisions with an action hash or without one, not both',
  )
  requireVerdict(ledger.ruled, record, verdict)
  const rejected = verdict === 'reject'
  const { votes: voted } = thread
  move(thread, rejected ? 'revise_rejected' : 'revise')
  const next = revisionOf(record)
  requireTighter(thread.requirement, next.requirement)
  requireThat(maxRisk(thread.risk, next.risk) === next.risk, 'its risk is lower than before')
  requireThat(maxRisk(policy_risk, next.risk) === next.risk, 'policy assessed a higher risk')
  thread.seen = [...thread.seen, ...voted.slice(0, 1).map(({ digest }) => digest)]
  Object.assign(thread, next)
  if (rejected) ledger.due = { type: 'review.rejected', thread: record.thread ?? '' }
}

const isHashed = ({ hashed }: Decided): boolean => hashed === true

function decidedAtOnce(ledger: Ledger, record: DecisionEvent, verdict: Verdict): void {
  decided(ledger, record, verdict)
  requireThat(record.thread === undefined, 'a call that is decided at once belongs to no thread')
}

function decided(ledger: Ledger, record: DecisionEvent, verdict: Verdict): void {
  const { details, task, tool } = record
  textOf(task, 'task_id')
  textOf(tool, 'tool')
  requireThat(verdict === 'reject' || details.policy !== NO_BUNDLE, 'no policy was in force')
  requireClaim(details)
  requireThat(details.verdict === verdict, `its verdict is \`${details.verdict}\``)
  requireVerdict(ledger.ruled, record, verdict)
}

/** Requires the higher risk of policy's assessment and the agent's claim. */
function requireClaim({ risk, policy_risk: said, claimed_risk: claimed = said }: Decided): void {
  requireThat(maxRisk(risk, said) === risk, 'policy assessed a higher risk')
  requireThat(maxRisk(said, claimed) === risk, 'neither policy nor the agent stated that risk')
}

function isFrozen({ freezes }: Ledger, { actor, tool = '' }: DecisionEvent): boolean {
  return freezeOf(freezes, { agent: actor.id, tool }) !== undefined
}

function requirementIn({ details: { requirement } }: DecisionEvent): ReviewRequirement {
  requireThat(requirement !== undefined, 'its `requirement` is missing')
  return requirementOf(requirement)
}

const revisionOf = (record: DecisionEvent): RevisionIn & Pick<LedgerThread, 'requirement'> => ({
  ...revisionIn(record),
  requirement: requirementIn(record),
})

type RevisionIn = Pick<LedgerThread, 'risk' | 'revision' | 'submitted_at' | 'votes' | 'announced' | 'shown'>

function revisionIn({ revision = 0, at: submitted_at, details }: DecisionEvent): RevisionIn {
  const { policy: bundle, template, risk } = details
  const shown = { bundle, ...(template === undefined ? {} : { template }) }
  return { risk, revision, submitted_at, votes: [], announced: [], shown }
}

interface Voted {
  readonly waited_ms?: number | undefined
  readonly digest?: string | undefined
  readonly voters?: readonly string[] | undefined
}

/**
 * Requires the previous record to be the vote that filled the last seat. When an escalation or the directory filled the
 * seat, the gateway is the actor.
 */
export function reviewApproved(ledger: Ledger, record: ReadEvent<Voted>, thread: LedgerThread): void {
  if (record.actor.kind !== 'gateway') requireVote(ledger, record, 'approve')
  requireVoters(thread, record)
  const elapsed = record.at - thread.submitted_at + CLOCK_SKEW_MS
  requireQuorum(thread.requirement, countedVotes(ledger, thread), elapsed)
}

/**
 * Requires the voters of this revision, and the digest that they saw. Any vote except an approval ends the wait, so all
 * votes before an approval are approvals.
 */
function requireVoters({ votes }: LedgerThread, { details: { voters, digest } }: ReadEvent<Voted>): void {
  const same = JSON.stringify(voters) === JSON.stringify(votes.map(({ reviewer }) => reviewer))
  requireThat(same, 'its voters are not the reviewers who voted on this revision')
  requireThat(digest === votes[0]?.digest, 'its digest is not the digest that the voters saw')
}

/** Requires reviewers of its approval. Their votes stay, and the thread has its earlier deadline. */
export function reviewResumed(ledger: Ledger, { actor }: ReadEvent, thread: LedgerThread): void {
  const isByFreeze = actor.id === 'freeze'
  const isFrozen = standingVotes(ledger, thread).length < thread.votes.length
  requireThat(!isByFreeze || isFrozen, 'no reviewer of its approval was frozen')
  requireThat(thread.votes.length > 0, 'no reviewer had approved it')
}

interface RequirementRaised {
  readonly requirement: JsonObject
}

/** Requires a requirement that asks for more, with the times of the thread. */
export function requirementRaised(
  _: Ledger,
  record: ReadEvent<RequirementRaised>,
  thread: LedgerThread,
): void {
  const { requirement: before, votes } = thread
  const after = requirementOf(record.details.requirement)
  requireThat(before.seats.length > 0, 'no reviewer was asked about it')
  requireThat(isDeepStrictEqual(raisedRequirement(before, after), after), 'it is less strict than before')
  requireThat(!isDeepStrictEqual(raisedRequirement(before, before), after), 'it asks for nothing more')
  thread.requirement = after
  thread.votes = votes.map((vote) => ({ ...vote, raised: true }))
}

interface Rejected extends Voted {
  readonly by?: readonly string[] | undefined
}

/** Requires the previous record to be the vote, or a revision that policy rejects. */
export function reviewRejected(ledger: Ledger, record: ReadEvent<Rejected>, thread: LedgerThread): void {
  if (ledger.last?.type === 'review.revised') return requireDue(ledger, record)
  const waited = record.at - thread.submitted_at
  requireVote(ledger, record, 'reject')
  requireThat(record.details.waited_ms === waited, `it had waited ${waited} ms`)
  requireVoters(thread, record)
  move(thread, 'vote_reject')
}

export function changesRequested(ledger: Ledger, record: ReadEvent<Voted>, thread: LedgerThread): void {
  requireVote(ledger, record, 'request_changes')
  requireVoters(thread, record)
}

function requireVote({ last }: Ledger, { actor, at, thread }: ReadEvent, decision: string): void {
  const { kind, id } = actor
  const isVote = last?.type === 'vote.cast' && last.thread === thread
  const isSame = kind === 'reviewer' && last?.actor.id === id && last.at === at
  requireThat(
    isVote && isSame && last.details['decision'] === decision,
    'the vote that caused it is not the previous record',
  )
}

function requireDue({ last }: Ledger, { thread, actor, at, details }: ReadEvent<Rejected>): void {
  const isNext = last?.thread === thread && last?.at === at && actor.kind === 'gateway'
  const isSame = JSON.stringify(last?.details['by']) === JSON.stringify(details.by)
  const follows = isNext && isSame && last?.details['verdict'] === 'reject'
  requireThat(follows, 'the revision that policy rejected is not the previous record')
}

/** Requires an approval on which the agent cannot have acted yet. */
export function reviewWithdrawn(_: Ledger, record: ReadEvent, thread: LedgerThread): void {
  const { approval } = thread
  if (approval?.collected === undefined) return requireInTime(thread, record)
  // the timer withdraws a call whose agent stopped waiting, and whose key may be gone
  requireThat(record.actor.kind === 'agent', 'its approval had been collected')
  requireThat(approval.token !== undefined, 'its approval had been used')
}

interface Announced {
  readonly due_at: string
  readonly groups: readonly string[]
  /** Absent for a reminder. */
  readonly to?: string
}

/**
 * Reminders and escalations: each is announced once, for all seats that escalate to the same group at the same time.
 */
export function reviewAnnounced(_: Ledger, record: ReadEvent<Announced>, thread: LedgerThread): void {
  const { requirement, submitted_at } = thread
  const { at, details, type } = record
  const groups = JSON.stringify(requirement.seats.map(({ group }) => group))
  requireThat(JSON.stringify(details.groups) === groups, 'its groups are not the groups that may vote')
  const due = msOf(details.due_at)
  requireThat(at + CLOCK_SKEW_MS >= due, 'it was not due')
  const { to } = details
  if (to !== undefined) requireEscalated(requirement, to, at - submitted_at + CLOCK_SKEW_MS)
  const key = JSON.stringify([type, due, to])
  const before = thread.announced.filter((one) => one === key).length
  requireThat(before < (to === undefined ? 1 : givingWayTo(requirement, to)), 'it was announced before')
  thread.announced = [...thread.announced, key]
}

type Claimed = ReadEvent<{ readonly from?: string | undefined }>

export function threadClaimed(_: Ledger, { actor, details: { from } }: Claimed, thread: LedgerThread): void {
  requireThat(from === undefined || from === thread.claimed, 'no reviewer of that name had claimed it')
  thread.claimed = actor.id
}

export function threadReleased(_: Ledger, { actor }: ReadEvent, thread: LedgerThread): void {
  requireThat(thread.claimed === actor.id, 'another reviewer had claimed it, or none')
  thread.claimed = undefined
}

/** Requires an existing revision. */
export function payloadRevealed(
  ledger: Ledger,
  record: ReadEvent<{ readonly revealed_revision: number }>,
): void {
  threadOf(ledger, { ...record, revision: record.details.revealed_revision })
}
