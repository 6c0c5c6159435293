import type { Answer } from '../../gateway-fixture.ts'
import type { Ballot, Claim } from './calls.ts'
import {
  look,
  type Move,
  redemption,
  replacement,
  revision,
  submission,
  threadIn,
  tokenIn,
  vote,
  withdrawal,
} from './moves.ts'
import type { Pay, Tool } from './policy.ts'

/** Plays a call, and waits for its answer. */
export type Play = (move: Move) => Promise<Answer<object>>

/**
 * Prepares something that only one call can have, and returns calls that want it.
 * The game plays a few of them at the same time.
 */
export type Contest = (play: Play, task: string) => Promise<readonly Move[]>

const AGENT = 'other'

async function held(play: Play, task: string, tool: Tool, payload: Pay = {}): Promise<string> {
  return threadIn(await play(submission({ agent: AGENT, task, tool, payload })))
}

const by = (who: string, thread: string, decision: Ballot['decision'] = 'approve'): Move =>
  vote({ who, thread, decision, revision: 1 })

/** Calls that compete to complete the quorum, and revisions that start it anew. */
const seat: Contest = async (play, task) => {
  const thread = await held(play, task, 'hold')
  const change = { agent: AGENT, task, thread, tool: 'hold', payload: {} } as const
  return [
    by('ann', thread),
    by('ben', thread),
    by('cat', thread, 'reject'),
    by('cat', thread, 'request_changes'),
    revision({ ...change, revisionId: 'r1' }),
    revision({ ...change, revisionId: 'r2' }),
    look(AGENT, { thread }),
    withdrawal(AGENT, thread),
  ]
}

/** Calls that compete for the token. */
const proof: Contest = async (play, task) => {
  const thread = await held(play, task, 'hold')
  await play(by('ann', thread))
  return [
    look(AGENT, { thread }),
    look(AGENT, { task }),
    look(AGENT, { thread, task }),
    by('ben', thread),
    withdrawal(AGENT, thread),
  ]
}

/** Calls that compete to redeem a token, or to replace it. */
const token: Contest = async (play, task) => {
  const thread = await held(play, task, 'hold')
  await play(by('ann', thread))
  const raw = tokenIn(await play(look(AGENT, { thread }))) ?? ''
  const claim: Claim = { agent: AGENT, task, token: raw, payload: {} }
  const once = redemption(claim)
  return [
    once,
    redemption({ ...claim, thread }),
    once,
    look(AGENT, { thread }),
    replacement(AGENT, thread),
    replacement(AGENT, thread),
    withdrawal(AGENT, thread),
  ]
}

/** Calls that compete for the rest of a limit, after reviewers approved most of it. */
const room: Contest = async (play, task) => {
  const thread = await held(play, task, 'pay', { amount: 29_930 })
  for (const who of ['ann', 'eve']) if (thread !== '') await play(by(who, thread))
  return [50, 50, 60, 70].map((amount) =>
    submission({ agent: AGENT, task, tool: 'pay', payload: { amount } }),
  )
}

/** Calls that compete for the answer of one Idempotency-Key. */
const key: Contest = async (_, task) => {
  const call = { agent: AGENT, task, tool: 'hold', payload: {}, idempotencyKey: 'k' } as const
  return [
    submission(call),
    submission(call),
    submission({ ...call, risk: 'high' }),
    submission({ ...call, tool: 't' }),
  ]
}

export const CONTESTS: readonly Contest[] = [seat, proof, token, room, key]
