import type { ThreadView } from '../../../src/contract/reviewer.ts'
import type { Dice } from '../../random.ts'
import { AGENTS } from '../contract-model/policy.ts'
import type { Caller, Query, ReviewModel, Thread } from './model.ts'

/* A thread as a caller sees it, in the words of the model; and the queries for lists. */

/** Events that all games together must meet, so that their agreement means something. */
export const SEEN = [
  ...['approved', 'rejected', 'changes_requested', 'pending_review'].map((status) => `vote ${status}`),
  'approval taken back',
  ...['vote', 'comment', 'reveal'].flatMap((act) => [`${act} by key`, `${act} by link`]),
  'reveal 200',
  'reveal 404',
  ...['not_pending', 'not_eligible', 'self_review', 'already_voted', 'sign_in_required'].flatMap((code) => [
    `vote ${code}`,
    `claim ${code}`,
  ]),
  ...['revision_required', 'stale_revision', 'not_found', 'unauthenticated'].map((code) => `vote ${code}`),
  'claim ok',
  'claim already_claimed',
  'claim taken over',
  'claim of what is dead',
  'comment that is sent again',
  'link 200',
  'link 401',
  'link 200 replaces',
  'session ended',
  'list of several pages',
  'stream resumed',
  'stream reset',
]

const DECIDED = 'decided'

/** Returns the values that the gateway shows. */
export function saidOf(body: ThreadView): unknown {
  return {
    status: body.status,
    revision: body.revision,
    risk: body.risk,
    payload: body.payload,
    mine: body.mine,
    obstacle: body.can_vote.allowed ? undefined : body.can_vote.code,
    who_can_vote: body.who_can_vote.map(({ reviewer }) => reviewer).sort(),
    claim: body.claim?.reviewer,
    comments: body.comments.map((one) => [one.reviewer, one.via, one.comment, one.revision]),
    votes: body.votes.map((one) => [one.reviewer, one.via, one.decision, one.revision, one.void]),
    given: body.status === 'pending_review' ? body.approvals.given : DECIDED,
    interactive: body.interactive,
    withdrawn: body.withdrawn_at !== undefined,
  }
}

/** Returns the values that the gateway has to show. */
export function expectedOf(model: ReviewModel, thread: Thread, caller: Caller): unknown {
  const { status, revision, risk, payload, interactive } = thread
  const obstacle = model.obstacle(thread, caller)
  return {
    status,
    revision,
    risk,
    payload,
    mine: obstacle === undefined,
    obstacle,
    who_can_vote: model.whoCanVote(thread).sort(),
    claim: model.claimant(thread),
    comments: thread.comments.map((one) => [one.who, one.via, one.text, one.revision]),
    votes: thread.votes.map((one, i) => [
      one.who,
      one.via,
      one.decision,
      one.revision,
      one.revision !== revision || thread.votes.slice(i + 1).some(({ who }) => who === one.who),
    ]),
    given: status === 'pending_review' ? model.given(thread) : DECIDED,
    interactive,
    withdrawn: thread.withdrawn,
  }
}

/** A query has each of these filters once in so many times; it has the others once in eight times. */
const OFTEN: Readonly<Record<string, number>> = { status: 2, group: 3, mine: 5, claimed: 5 }

export function queryOf(dice: Dice, model: ReviewModel): Query {
  const times = [...model.threads.values()].map(({ createdAt }) => new Date(createdAt).toISOString())
  const all: Record<string, readonly string[]> = {
    status: ['pending_review', 'pending_review', 'approved', 'rejected', 'changes_requested'],
    tool: ['hold', 'pay'],
    risk: ['low', 'high', 'critical'],
    group: ['desk', 'leads', 'board', 'board', 'audit', 'nobody'],
    agent: Object.keys(AGENTS),
    task_id: ['one', 'two', 'three'],
    mine: ['true'],
    claimed: ['me', 'nobody'],
    since: times,
    until: times,
    q: ['heron', 'plover', 'crow'],
  }
  const asked = Object.entries(all).filter(([name]) => dice.once(OFTEN[name] ?? 8))
  return Object.fromEntries(
    asked.flatMap(([name, values]) => {
      const value = dice.one(values)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
