import { describe, expect, it } from 'vitest'
import { type Agent, HOUR, MINUTE, openWorld, type Reviewer, type World } from '../gateway-fixture.ts'
import { type Dice, diceOf } from '../random.ts'
import { compare, SEEN } from './contract-answers.ts'
import type { Ballot, Change, Claim, Scope, Submission } from './contract-calls.ts'
import { ContractModel } from './contract-model.ts'
import { AGENTS, BUNDLES, type Bundle, PEOPLE, type Pay, TOOLS } from './contract-policy.ts'

/** Random calls of agents and people, in random time: every answer is the one that the model gives. */

const SEEDS =
  process.env['COUNTERSIGN_SOAK'] === undefined ? [1, 2, 3, 4] : Array.from({ length: 60 }, (_, i) => i + 1)
/** Under each of the policies. */
const STEPS = 90
const HASHES = ['a', 'b'].map((digit) => digit.repeat(64))
const RISKS = ['low', 'medium', 'high', 'critical'] as const

interface Minted {
  readonly token: string
  readonly thread: string
}

class Game {
  readonly #seen = new Set<string>()
  readonly #world: World
  readonly #dice: Dice
  readonly #model: ContractModel
  readonly #agents = new Map<string, Agent>()
  readonly #people = new Map<string, Reviewer>()
  readonly #tokens: Minted[] = []
  readonly #tasks = ['one', 'two', 'three']

  constructor(world: World, seed: number) {
    this.#world = world
    this.#dice = diceOf(seed)
    this.#model = new ContractModel(() => world.clock.now)
  }

  async begin(): Promise<void> {
    for (const id of PEOPLE) this.#people.set(id, await this.#world.reviewer(id))
    for (const id of Object.keys(AGENTS)) await this.#rotate(id)
  }

  /** What has come about. */
  end(): ReadonlySet<string> {
    const { filledByTime, heldByLimit, released } = this.#model
    if (filledByTime > 0) this.#seen.add('approved by time alone')
    if (heldByLimit > 0) this.#seen.add('held by a limit')
    if (released > 0) this.#seen.add('given back to a limit')
    return this.#seen
  }

  async step(): Promise<void> {
    const acts = [
      ...Array<() => Promise<void>>(4).fill(() => this.#submit()),
      ...Array<() => Promise<void>>(6).fill(() => this.#poll()),
      ...Array<() => Promise<void>>(9).fill(() => this.#vote()),
      ...Array<() => Promise<void>>(3).fill(() => this.#validate()),
      ...Array<() => Promise<void>>(4).fill(() => this.#revise()),
      ...Array<() => Promise<void>>(2).fill(() => this.#pass()),
      () => this.#seldom(),
    ]
    await this.#pick(acts)()
  }

  #pick<T>(list: readonly T[]): T {
    return this.#dice.one(list) as T
  }

  /** A name of a thread: often a young one, sometimes an old one or none at all. */
  #thread(): string {
    const names = [...this.#model.threads.keys()]
    if (this.#dice.once(25) || names.length === 0) return 'thr_00000000000000000000000000'
    return this.#pick(this.#dice.once(5) ? names : names.slice(-4))
  }

  #pay(): Pay {
    const amount = this.#pick([50, 50, 500, 500, 20_000, 60_000, 999_999, 0, undefined])
    const to = this.#pick([undefined, undefined, 'bob', 'audit-7'])
    return { ...(amount !== undefined && { amount }), ...(to !== undefined && { to }) }
  }

  async #submit(): Promise<void> {
    const dice = this.#dice
    const agent = this.#pick(Object.keys(AGENTS))
    const tool = dice.once(2) ? 'pay' : this.#pick(TOOLS)
    const call: Submission = {
      agent,
      task: this.#pick(this.#tasks),
      tool,
      payload: tool === 'pay' ? this.#pay() : {},
      ...(dice.once(2) && { hash: this.#pick(HASHES) }),
      ...(dice.once(4) && { risk: this.#pick(RISKS) }),
      ...(dice.once(4) && { idempotencyKey: `k${dice.below(4)}` }),
    }
    await this.#send(call)
    // again, as a runtime does that got no answer
    if (call.idempotencyKey !== undefined && dice.once(2)) await this.#send(call)
  }

  async #send(call: Submission): Promise<void> {
    const { agent, task, tool, payload, hash, risk, idempotencyKey: key } = call
    const body = {
      tool_name: tool,
      payload,
      ...(hash !== undefined && { action_hash: hash }),
      ...(risk !== undefined && { risk_level: risk }),
    }
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
    const expected = this.#model.submit(call)
    const answer = await this.#agent(agent).submit(task, body, headers)
    this.#seen.add(compare('submit', answer, expected))
    if (expected.thread_id === 'new') this.#model.opened(answer.body.thread_id ?? '', call)
  }

  async #poll(): Promise<void> {
    const thread = this.#thread()
    const { agent: owner = 'bot', task: own = 'one' } = this.#model.threads.get(thread) ?? {}
    const agent = this.#dice.once(20) ? this.#pick(Object.keys(AGENTS)) : owner
    const task = this.#dice.once(8) ? this.#pick(this.#tasks) : own
    const by = this.#pick([{ thread }, { thread }, { task }, { thread, task }])
    await this.#look(agent, by)
  }

  async #look(agent: string, by: { readonly thread?: string; readonly task?: string }): Promise<void> {
    const expected = this.#model.poll(agent, by)
    const answer = await this.#agent(agent).poll({
      ...(by.thread !== undefined && { thread_id: by.thread }),
      ...(by.task !== undefined && { task_id: by.task }),
    })
    this.#seen.add(compare('poll', answer, expected))
    const { thread_id = '', approval_token: token = '' } = answer.body
    expect(token !== '').toBe(expected.tokenUntil !== undefined)
    if (expected.tokenUntil === undefined) return
    this.#model.minted(token, thread_id, expected.tokenUntil)
    this.#tokens.push({ token, thread: thread_id })
  }

  async #validate(): Promise<void> {
    const dice = this.#dice
    const minted = dice.once(4) ? this.#pick(this.#tokens) : this.#tokens.at(-1)
    if (minted === undefined) return
    const right = this.#claimOf(minted)
    const wrong: Partial<Claim>[] = [
      { agent: this.#pick(Object.keys(AGENTS)) },
      { task: 'another' },
      { payload: { amount: 51 } },
      { thread: this.#thread() },
      { hash: this.#pick(HASHES) },
      { token: 'cst_none' },
    ]
    await this.#redeem(dice.once(3) ? { ...right, ...this.#pick(wrong) } : right)
  }

  #claimOf({ token, thread: id }: Minted): Claim {
    const thread = this.#model.threads.get(id) ?? expect.fail()
    const { agent, task, payload, hash } = thread
    const proof = thread.v2 ? { thread: id, ...(hash !== undefined && { hash }) } : {}
    return { agent, token, task, payload, ...proof }
  }

  async #redeem(claim: Claim): Promise<void> {
    const expected = this.#model.validate(claim)
    const answer = await this.#agent(claim.agent).validate({
      task_id: claim.task,
      signature: claim.token,
      request_payload: claim.payload,
      ...(claim.thread !== undefined && { thread_id: claim.thread }),
      ...(claim.hash !== undefined && { action_hash: claim.hash }),
    })
    this.#seen.add(compare('validate', answer, expected))
  }

  async #vote(): Promise<void> {
    const thread = this.#thread()
    const who = this.#pick(PEOPLE)
    const { revision: current = 1 } = this.#model.threads.get(thread) ?? {}
    const decision = this.#dice.once(7)
      ? this.#pick(['reject', 'request_changes', 'request_changes'] as const)
      : ('approve' as const)
    const revision = this.#dice.once(15) ? this.#pick([undefined, current + 1]) : current
    await this.#ballot({ who, thread, decision, ...(revision !== undefined && { revision }) })
    const { agent } = this.#model.threads.get(thread) ?? {}
    // the agent that waits for it
    if (agent !== undefined && this.#dice.once(2)) await this.#look(agent, { thread })
  }

  async #ballot(ballot: Ballot): Promise<void> {
    const { who, thread, ...vote } = ballot
    const expected = this.#model.vote(ballot)
    const person = this.#people.get(who) ?? expect.fail()
    this.#seen.add(compare('vote', await person.vote(thread, { comment: 'said', ...vote }), expected))
  }

  async #revise(): Promise<void> {
    const dice = this.#dice
    const thread = this.#thread()
    const {
      agent = 'bot',
      task: own = 'one',
      tool: its = 'pay',
      v2 = false,
    } = this.#model.threads.get(thread) ?? {}
    const task = dice.once(12) ? this.#pick(this.#tasks) : own
    const tool = dice.once(12) ? this.#pick(['pay', 'hold'] as const) : its
    const payload = tool === 'pay' ? this.#pay() : {}
    const hash = v2 !== dice.once(12) ? { hash: this.#pick(HASHES) } : {}
    const revisionId = `r${dice.below(6)}`
    const change: Change = { agent, task, thread, revisionId, tool, payload, ...hash }
    await this.#change(change)
    // again, as a runtime does that got no answer
    if (dice.once(4)) await this.#change(change)
  }

  async #change(change: Change): Promise<void> {
    const { agent, task, thread, revisionId, tool, payload, hash } = change
    const expected = this.#model.revise(change)
    const answer = await this.#agent(agent).revise(task, thread, {
      revision_id: revisionId,
      tool_name: tool,
      request_payload: payload,
      ...(hash !== undefined && { action_hash: hash }),
    })
    this.#seen.add(compare('revise', answer, expected))
  }

  async #pass(): Promise<void> {
    this.#world.clock.advance(
      this.#pick([1, 999, 30_000, MINUTE, 5 * MINUTE, 10 * MINUTE, 31 * MINUTE, HOUR, 5 * HOUR]),
    )
    if (this.#dice.once(3)) return
    this.#model.due()
    await this.#world.due()
  }

  async #seldom(): Promise<void> {
    if (this.#dice.once(3)) return this.#replaceKey()
    if (this.#dice.once(2)) return this.#wait()
    const scope: Scope = this.#pick([{ agent: 'other' }, { tool: 'hold' }, { tool: 'pay' }, {}])
    const call: Submission = {
      agent: 'other',
      task: 'one',
      tool: 't',
      payload: {},
      idempotencyKey: `f${this.#dice.below(1_000)}`,
    }
    await this.#send(call)
    await this.#freeze('freeze', scope)
    for (let i = this.#dice.below(4); i > 0; i--) await this.#submit()
    if (this.#dice.once(2)) await this.#poll()
    await this.#freeze('unfreeze', scope)
    // what was allowed before is judged anew
    await this.#send(call)
  }

  /** A chair of the leads stays empty until the board may take it, of which one has voted as an auditor. */
  async #wait(): Promise<void> {
    await this.#send({
      agent: 'other',
      task: 'four',
      tool: 'pay',
      payload: { amount: 20_000, to: 'audit-7' },
    })
    const thread = [...this.#model.threads.keys()].at(-1) ?? ''
    for (const who of ['hal', 'dan', 'ann'])
      await this.#ballot({ who, thread, decision: 'approve', revision: 1 })
    this.#world.clock.advance(31 * MINUTE)
    await this.#look('other', { thread })
  }

  /** What was approved under one policy is read under the next. */
  async change(bundle: Bundle): Promise<void> {
    for (const [agent, ...people] of [
      ['other', 'ann', 'eve'],
      ['unsigned', 'ann', 'eve'],
      ['selfie', 'ann', 'olga'],
    ] as const) {
      await this.#send({ agent, task: 'five', tool: 'pay', payload: { amount: 29_990 } })
      const thread = [...this.#model.threads.keys()].at(-1) ?? ''
      for (const who of people) await this.#ballot({ who, thread, decision: 'approve', revision: 1 })
      if (agent !== 'selfie' || this.#dice.once(2)) await this.#look(agent, { thread })
    }
    await this.#world.changePolicies(BUNDLES[bundle])
    this.#model.change(bundle)
    for (const minted of this.#tokens.slice(-2)) await this.#redeem(this.#claimOf(minted))
    for (const agent of ['other', 'unsigned', 'selfie']) {
      await this.#look(agent, { task: 'five' })
      // is there room for it?
      await this.#send({ agent, task: 'five', tool: 'pay', payload: { amount: 50 } })
    }
  }

  async #freeze(act: 'freeze' | 'unfreeze', scope: Scope): Promise<void> {
    const { http } = act === 'freeze' ? this.#model.freeze(scope) : this.#model.unfreeze(scope)
    const body = { tenant: 'acme', reason: 'a test', ...scope }
    expect((await this.#world.admin('POST', act, { body })).status, act).toBe(http)
  }

  async #replaceKey(): Promise<void> {
    const agent = this.#pick(Object.keys(AGENTS))
    const old = this.#agent(agent)
    await this.#rotate(agent)
    const answer = await old.submit('one', { tool_name: 't' })
    this.#seen.add(compare('submit', answer, { http: 401, code: 'unauthenticated' }))
  }

  async #rotate(id: string): Promise<void> {
    const agent = await this.#world.agent(id)
    this.#agents.set(id, agent)
    this.#model.rotate(id, agent.key)
  }

  #agent(id: string): Agent {
    return this.#agents.get(id) ?? expect.fail()
  }
}

describe('the gateway and a model of its contract', () => {
  const seen = new Set<string>()

  it.each(SEEDS)('give the same answers, whatever is asked (seed %d)', async (seed) => {
    const world = await openWorld({ files: BUNDLES.first })
    try {
      const game = new Game(world, seed)
      await game.begin()
      for (const bundle of ['second', 'first', 'second'] as const) {
        for (let i = 0; i < STEPS; i++) await game.step()
        await game.change(bundle)
      }
      for (let i = 0; i < STEPS; i++) await game.step()
      for (const one of game.end()) seen.add(one)
    } finally {
      await world.close()
    }
  })

  it('have met everything that can be answered', () => {
    expect(SEEN.filter((one) => !seen.has(one))).toEqual([])
  })
})
