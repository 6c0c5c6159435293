import { expect } from 'vitest'
import type { Agent, Answer, Reviewer, World } from '../../gateway-fixture.ts'
import { compare } from './answers.ts'
import type { Ballot, Change, Claim, End, Expected, Scope, Submission } from './calls.ts'
import type { ContractModel } from './model.ts'

/** The callers of a move, and the gateway that they ask. */
export interface Seats {
  agent(id: string): Agent
  person(id: string): Reviewer
  readonly world: World
}

/** One call to the gateway, and the same call to the model. */
export interface Move {
  ask(seats: Seats): Promise<Answer<object>>
  expected(model: ContractModel): Expected
  /**
   * Fails where the two differ; returns the name of the event.
   * When a call is `alone`, no other call runs between its act and its answer.
   */
  check(answer: Answer<object>, expected: Expected, alone: boolean): string
  /** Gives the model the names that only the gateway can choose. */
  tell(model: ContractModel, answer: Answer<object>, expected: Expected): void
}

const comparing = (act: string): Pick<Move, 'check' | 'tell'> => ({
  check: (answer, expected) => compare(act, answer, expected),
  tell: () => undefined,
})

interface Named {
  readonly thread_id?: string
  readonly approval_token?: string
}

export const tokenIn = (answer: Answer<object>): string | undefined => (answer.body as Named)?.approval_token
export const threadIn = (answer: Answer<object>): string => (answer.body as Named).thread_id ?? ''

export function submission(call: Submission): Move {
  const { agent, task, tool, payload, hash, risk, idempotencyKey: key } = call
  const body = {
    tool_name: tool,
    payload,
    ...(hash !== undefined && { action_hash: hash }),
    ...(risk !== undefined && { risk_level: risk }),
  }
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
  return {
    ...comparing('submit'),
    ask: (seats) => seats.agent(agent).submit(task, body, headers),
    expected: (model) => model.submit(call),
    tell: (model, answer, expected) => {
      if (expected.thread_id === 'new') model.opened(threadIn(answer), call)
    },
  }
}

export function look(agent: string, by: { readonly thread?: string; readonly task?: string }): Move {
  const query = {
    ...(by.thread !== undefined && { thread_id: by.thread }),
    ...(by.task !== undefined && { task_id: by.task }),
  }
  return {
    ask: (seats) => seats.agent(agent).poll(query),
    expected: (model) => model.poll(agent, by),
    check: (answer, expected) => {
      const name = compare('poll', answer, expected)
      expect(tokenIn(answer) !== undefined).toBe(expected.tokenUntil !== undefined)
      return name
    },
    tell: (model, answer, { tokenUntil }) => {
      if (tokenUntil !== undefined) model.minted(tokenIn(answer) ?? '', threadIn(answer), tokenUntil)
    },
  }
}

export function redemption(claim: Claim): Move {
  const body = {
    task_id: claim.task,
    signature: claim.token,
    request_payload: claim.payload,
    ...(claim.thread !== undefined && { thread_id: claim.thread }),
    ...(claim.hash !== undefined && { action_hash: claim.hash }),
  }
  return {
    ...comparing('validate'),
    ask: (seats) => seats.agent(claim.agent).validate(body),
    expected: (model) => model.validate(claim),
  }
}

export function vote(ballot: Ballot): Move {
  const { who, thread, ...cast } = ballot
  const { check, tell } = comparing('vote')
  return {
    tell,
    // the gateway reads the thread for its answer after the vote has landed
    check: (answer, expected, alone) => {
      if (alone || answer.status !== 200 || expected.http !== 200) return check(answer, expected, alone)
      expect(threadIn(answer)).toBe(expected.thread_id)
      return `vote ${expected.status}`
    },
    ask: (seats) => seats.person(who).vote(thread, { comment: 'said', ...cast }),
    expected: (model) => model.vote(ballot),
  }
}

export function revision(change: Change): Move {
  const { agent, task, thread, revisionId, tool, payload, hash } = change
  const body = {
    revision_id: revisionId,
    tool_name: tool,
    request_payload: payload,
    ...(hash !== undefined && { action_hash: hash }),
  }
  return {
    ...comparing('revise'),
    ask: (seats) => seats.agent(agent).revise(task, thread, body),
    expected: (model) => model.revise(change),
  }
}

export function withdrawal(agent: string, thread: string): Move {
  return {
    ...comparing('withdraw'),
    ask: (seats) => seats.agent(agent).withdraw(thread, { reason: 'stopped' }),
    expected: (model) => model.withdraw(agent, thread),
  }
}

export function ending(end: End): Move {
  const { agent, task, thread: thread_id, hash: action_hash, outcome } = end
  const body = { action_hash, thread_id, outcome }
  return {
    ask: (seats) => seats.agent(agent).call('POST', `tasks/${task}/outcomes`, { body }),
    expected: (model) => model.outcome(end),
    check: (answer, expected) => {
      compare('outcome', answer, expected)
      return `outcome ${expected.http}`
    },
    tell: () => undefined,
  }
}

export function replacement(agent: string, thread: string): Move {
  return {
    ask: (seats) => seats.agent(agent).reissue(thread),
    expected: (model) => model.reissue(agent, thread),
    check: (answer, expected) => {
      const name = compare('reissue', answer, expected)
      expect(tokenIn(answer) !== undefined).toBe(expected.tokenUntil !== undefined)
      return name
    },
    tell: (model, answer, { tokenUntil }) => {
      if (tokenUntil !== undefined) model.minted(tokenIn(answer) ?? '', threadIn(answer), tokenUntil)
    },
  }
}

export function freezing(act: 'freeze' | 'unfreeze', scope: Scope): Move {
  const body = { tenant: 'acme', reason: 'a test', ...scope }
  return {
    ask: ({ world }) => world.admin('POST', act, { body }),
    expected: (model) => model[act](scope),
    check: ({ status }, { http }) => {
      expect(status, act).toBe(http)
      return `${act} ${http}`
    },
    tell: () => undefined,
  }
}
