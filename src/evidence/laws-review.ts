import { maxRisk, type Risk, RISKS, type Verdict, VERDICTS } from '../domain/decision.ts'
import { BY_FREEZE, NO_BUNDLE } from '../domain/evidence.ts'
import { freezeOf } from '../domain/freeze.ts'
import { transition } from '../domain/thread.ts'
import { holdsVouched } from './laws-access.ts'
import { holdsVerdict } from './laws-verdict.ts'
import { holds, listOf, momentOf, objectOf, textOf, type ToldRecord } from './record.ts'
import {
  givingWayTo,
  holdsEligible,
  holdsEscalated,
  holdsQuorum,
  holdsTighter,
  requirementOf,
} from './requirement.ts'
import {
  currentThread,
  deadlineOf,
  holdsAgent,
  holdsInTime,
  isDead,
  livingThread,
  move,
  SLACK_MS,
  threadOf,
  type Told,
  type ToldThread,
  type ToldVote,
} from './told.ts'

/*
 * What decisions and reviews can leave in evidence (docs/agent-api.md and docs/review-api.md). Each law looks at one record and what
 * was told before it, tells what it changes, and throws BrokenLaw for what no gateway can have done.
 */

export function decisionAllowed(told: Told, record: ToldRecord): void {
  decidedAtOnce(told, record, 'allow')
  holds(record.details['fault'] === undefined, 'the rules engine had failed')
  holds(!isFrozen(told, record), 'its agent, tool or tenant was frozen')
  told.allowed += 1
}

export function decisionRejected(told: Told, record: ToldRecord): void {
  decidedAtOnce(told, record, 'reject')
  const { by, policy } = record.details
  // a rule may have that name, too, but a freeze does not ask policy
  const because = listOf(by, 'by').includes(BY_FREEZE) && policy === NO_BUNDLE
  holds(
    because === isFrozen(told, record),
    because ? 'nothing was frozen' : 'a freeze was in force, and it does not say so',
  )
  told.rejected += 1
}

export function reviewPending(told: Told, record: ToldRecord): void {
  decided(told, record, 'review')
  holds(!isFrozen(told, record), 'its agent, tool or tenant was frozen')
  const id = textOf(record.thread, 'thread_id')
  holds(!told.threads.has(id), 'its thread was opened before')
  holds(record.revision === 1, 'a thread begins with revision 1')
  told.threads.set(id, {
    agent: record.actor.id,
    task: textOf(record.task, 'task_id'),
    tool: textOf(record.tool, 'tool'),
    freeze_epoch: told.freezes.epoch,
    hashed: record.details['action_hash'] !== undefined,
    opened_at: record.at,
    status: 'pending_review',
    seen: [],
    happened: [],
    ...revisionOf(record),
  })
}

export function reviewRevised(told: Told, record: ToldRecord): void {
  const { thread: id = '', revision } = record
  const thread = livingThread(told, { ...record, revision: (revision ?? 0) - 1 })
  holdsAgent(thread, record)
  holdsInTime(thread, record)
  const hashed = record.details['action_hash'] !== undefined
  holds(hashed === thread.hashed, 'its thread takes revisions with an action hash or without one, not both')
  const verdict = VERDICTS.find((one) => one === record.details['verdict'])
  holds(verdict !== undefined, `its verdict is ${JSON.stringify(record.details['verdict'])}`)
  textOf(record.details['policy'], 'policy')
  holdsVerdict(told, record, verdict)
  const rejected = verdict === 'reject'
  const { votes: voted } = thread
  move(thread, rejected ? 'revise_rejected' : 'revise')
  const next = revisionOf(record)
  holdsTighter(thread.requirement, next.requirement)
  holds(maxRisk(thread.risk, next.risk) === next.risk, 'its risk is lower than before')
  holds(maxRisk(riskIn(record.details, 'policy_risk'), next.risk) === next.risk, 'policy said more risk')
  thread.seen = [...thread.seen, ...voted.slice(0, 1).map(({ digest }) => digest)]
  Object.assign(thread, next)
  if (rejected) told.due = { type: 'review.rejected', thread: id }
}

function decidedAtOnce(told: Told, record: ToldRecord, verdict: Verdict): void {
  decided(told, record, verdict)
  holds(record.thread === undefined, 'a call that is decided at once belongs to no thread')
}

function decided(told: Told, record: ToldRecord, verdict: Verdict): void {
  const { details, task, tool } = record
  textOf(task, 'task_id')
  textOf(tool, 'tool')
  textOf(details['policy'], 'policy')
  holds(verdict === 'reject' || details['policy'] !== NO_BUNDLE, 'no policy was in force')
  holdsClaim(details)
  holds(details['verdict'] === verdict, `its verdict is ${JSON.stringify(details['verdict'])}`)
  holdsVerdict(told, record, verdict)
}

/** The risk is what policy says, or what the agent claims where that is more. */
function holdsClaim(details: ToldRecord['details']): void {
  const [risk, said] = [riskIn(details), riskIn(details, 'policy_risk')]
  holds(maxRisk(risk, said) === risk, 'policy said more risk')
  const claimed = details['claimed_risk'] === undefined ? said : riskIn(details, 'claimed_risk')
  holds(maxRisk(said, claimed) === risk, 'nobody said that risk')
}

function isFrozen({ freezes }: Told, { actor, tool = '' }: ToldRecord): boolean {
  return freezeOf(freezes, { agent: actor.id, tool }) !== undefined
}

function revisionOf(
  record: ToldRecord,
): Pick<ToldThread, 'risk' | 'revision' | 'submitted_at' | 'requirement' | 'votes' | 'announced'> {
  const requirement = requirementOf(objectOf(record.details['requirement'], 'its requirement'))
  const { revision = 0, at: submitted_at } = record
  return { risk: riskIn(record.details), revision, submitted_at, requirement, votes: [], announced: [] }
}

function riskIn(details: ToldRecord['details'], name = 'risk'): Risk {
  const risk = RISKS.find((one) => one === details[name])
  holds(risk !== undefined, `its \`${name}\` is ${JSON.stringify(details[name])}`)
  return risk
}

/** What becomes of a thread is told with its risk. */
function holdsRisk({ risk }: ToldThread, { details }: ToldRecord): void {
  holds(details['risk'] === risk, `its thread was of ${risk} risk`)
}

/** How long people took is told, and follows. */
function holdsWaited({ at, details }: ToldRecord, since: number): void {
  holds(details['waited_ms'] === at - since, `it waited ${at - since} ms by then`)
}

const ENDED_BY: Readonly<Record<string, 'review.rejected' | 'review.changes_requested' | undefined>> = {
  approve: undefined,
  reject: 'review.rejected',
  request_changes: 'review.changes_requested',
}

export function voteCast(told: Told, record: ToldRecord): void {
  const thread = livingThread(told, record)
  holdsInTime(thread, record)
  const vote = voteOf(record)
  holdsEligible(thread.requirement, vote, record.at - thread.submitted_at + SLACK_MS)
  if (!told.broken.has(`reviewer:${vote.reviewer}`)) holdsVouched(told, vote, thread.requirement)
  holds(Object.hasOwn(ENDED_BY, vote.decision), `nobody can vote ${JSON.stringify(vote.decision)}`)
  holds(
    !thread.votes.some(({ reviewer }) => reviewer === vote.reviewer),
    'the same reviewer has voted on this revision',
  )
  holds(
    thread.requirement.interactive !== true || vote.via !== 'key',
    'a key does not vote where a person has to sign in',
  )
  const [first = vote] = thread.votes
  holds(vote.digest === first.digest, 'the votes on this revision saw different things')
  holds(!thread.seen.includes(vote.digest), 'it saw an earlier revision')
  move(thread, 'vote_counted')
  thread.votes = [...thread.votes, vote]
  const type = ENDED_BY[vote.decision]
  if (type !== undefined) told.due = { type, thread: record.thread ?? '' }
}

function voteOf({ actor, details }: ToldRecord): ToldVote {
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

/** The vote that filled the last seat stands before it; where an escalation or the directory filled it, the gateway says so. */
export function reviewApproved(told: Told, record: ToldRecord): void {
  const thread = livingThread(told, record)
  const { votes, requirement } = thread
  holdsInTime(thread, record)
  if (record.actor.kind !== 'gateway') holdsVote(told, record, 'approve')
  holdsVoters(thread, record)
  holdsQuorum(requirement, votes, record.at - thread.submitted_at + SLACK_MS)
  move(thread, 'quorum_met')
  thread.approval = { at: record.at }
}

/** Who has voted on this revision, and what they saw. Any vote but an approval ends the waiting, so those before an approval are approvals. */
function holdsVoters(thread: ToldThread, record: ToldRecord): void {
  const { votes } = thread
  const { details } = record
  const voters = listOf(details['voters'], 'voters')
  const same = JSON.stringify(voters) === JSON.stringify(votes.map(({ reviewer }) => reviewer))
  holdsRisk(thread, record)
  holdsWaited(record, thread.submitted_at)
  holds(same, 'its voters are not those who voted on this revision')
  holds(details['digest'] === votes[0]?.digest, 'it is not what the voters saw')
}

/** By the vote before it, or by policy after a revision. */
export function reviewRejected(told: Told, record: ToldRecord): void {
  const thread = currentThread(told, record)
  if (told.last?.type === 'review.revised') {
    holdsRisk(thread, record)
    return holdsDue(told, record)
  }
  holdsVote(told, record, 'reject')
  holdsVoters(thread, record)
  move(thread, 'vote_reject')
}

export function changesRequested(told: Told, record: ToldRecord): void {
  const thread = currentThread(told, record)
  holdsVote(told, record, 'request_changes')
  holdsVoters(thread, record)
  move(thread, 'vote_changes')
}

function holdsVote({ last }: Told, { actor, at, thread }: ToldRecord, decision: string): void {
  const { kind, id } = actor
  const isVote = last?.type === 'vote.cast' && last.thread === thread
  const isSame = kind === 'reviewer' && last?.actor.id === id && last.at === at
  holds(
    isVote && isSame && last.details['decision'] === decision,
    'the vote that it follows from does not stand before it',
  )
}

function holdsDue({ last }: Told, { thread, actor, at, details }: ToldRecord): void {
  const isNext = last?.thread === thread && last?.at === at && actor.kind === 'gateway'
  const isSame = JSON.stringify(last?.details['by']) === JSON.stringify(details['by'])
  const follows = isNext && isSame && last?.details['verdict'] === 'reject'
  holds(follows, 'the revision that policy rejected does not stand before it')
}

export function reviewExpired(told: Told, record: ToldRecord): void {
  const thread = endable(told, record)
  holds(thread.approval?.collected === undefined, 'its approval had been collected: only its token expires')
  holds(record.at + SLACK_MS >= deadlineOf(thread), 'its time was not up')
  move(thread, 'expire')
}

export function reviewFrozen(told: Told, record: ToldRecord): void {
  const thread = endable(told, record)
  holds(isDead(told, thread), 'no freeze has hit its thread')
  move(thread, 'freeze')
}

/** By its own agent, before it may have acted on it. */
export function reviewWithdrawn(told: Told, record: ToldRecord): void {
  const thread = endable(told, record)
  const { approval } = thread
  holds(!isDead(told, thread), 'a freeze had ended its thread')
  holdsAgent(thread, record)
  if (approval?.collected === undefined) holdsInTime(thread, record)
  else holds(approval.token !== undefined, 'its approval had been used')
  textOf(record.details['reason'], 'reason')
  move(thread, 'withdraw')
}

/** What ends without a person: not what is over already. */
function endable(told: Told, record: ToldRecord): ToldThread {
  const thread = currentThread(told, record)
  const { status, approval } = thread
  holdsRisk(thread, record)
  holdsWaited(record, thread.opened_at)
  holds(record.details['was'] === status, `its thread was ${status} by then`)
  holds(transition(status, 'freeze') !== undefined && approval?.redeemed === undefined, 'its thread was over')
  return thread
}

/** Reminders and escalations: each once, of all seats that give way to the same group at the same time. */
export function reviewAnnounced(told: Told, record: ToldRecord): void {
  const thread = currentThread(told, record)
  const { status, requirement, submitted_at } = thread
  const { at, details, type } = record
  holds(status === 'pending_review', `its thread was ${status} by then`)
  holdsRisk(thread, record)
  const groups = JSON.stringify(requirement.seats.map(({ group }) => group))
  holds(JSON.stringify(details['groups']) === groups, 'its groups are not those that are asked')
  const due = momentOf(details['due_at'], 'due_at')
  holds(at + SLACK_MS >= due, 'it was not due')
  const to = type === 'review.escalated' ? textOf(details['to'], 'to') : undefined
  if (to !== undefined) holdsEscalated(requirement, to, at - submitted_at + SLACK_MS)
  const key = JSON.stringify([type, due, to])
  const before = thread.announced.filter((one) => one === key).length
  holds(before < (to === undefined ? 1 : givingWayTo(requirement, to)), 'it was said before')
  thread.announced = [...thread.announced, key]
}

export function threadClaimed(told: Told, record: ToldRecord): void {
  const thread = claimable(told, record)
  const { from } = record.details
  holds(from === undefined || from === thread.claimed, 'nobody of that name had claimed it')
  thread.claimed = record.actor.id
}

export function threadReleased(told: Told, record: ToldRecord): void {
  const thread = claimable(told, record)
  holds(thread.claimed === record.actor.id, 'somebody else had claimed it, or nobody')
  thread.claimed = undefined
}

function claimable(told: Told, record: ToldRecord): ToldThread {
  const thread = currentThread(told, record)
  holds(thread.status === 'pending_review', `its thread was ${thread.status} by then`)
  return thread
}

/** At any time, about a revision that there was. */
export function threadCommented(told: Told, record: ToldRecord): void {
  threadOf(told, record)
}

/** The same, and of a revision that there was. */
export function payloadRevealed(told: Told, record: ToldRecord): void {
  const { revealed_revision: revision } = record.details
  holds(Number.isSafeInteger(revision), 'its `revealed_revision` is no number')
  threadOf(told, { ...record, revision: revision as number })
  threadOf(told, record)
}
