import { expect } from 'vitest'
import { Agent, type Answer, HOUR, MINUTE, Reviewer, type World } from '../../gateway-fixture.ts'
import { type Dice, diceOf } from '../../random.ts'
import { compare } from './answers.ts'
import type { Change, Claim, Scope, Submission } from './calls.ts'
import { CONTESTS } from './contests.ts'
import { ContractModel } from './model.ts'
import {
  freezing,
  ending,
  look,
  type Move,
  redemption,
  replacement,
  revision,
  type Seats,
  submission,
  threadIn,
  tokenIn,
  vote,
  withdrawal,
} from './moves.ts'
import { AGENTS, BUNDLES, type Bundle, PEOPLE, type Pay, TOOLS } from './policy.ts'

const HASHES = ['a', 'b'].map((digit) => digit.repeat(64))
const RISKS = ['low', 'medium', 'high', 'critical'] as const
const SCOPES: readonly Scope[] = [{ agent: 'other' }, { tool: 'hold' }, { tool: 'pay' }, {}]
/** The bound on the states of the model that the answers leave possible. */
const MOST_MODELS = 200

interface Minted {
  readonly token: string
  readonly thread: string
}

/** A gateway of the fleet, and the policy that it has loaded. */
interface Seat extends Seats {
  bundle: Bundle
}

interface Played {
  readonly move: Move
  readonly seat: Seat
  readonly answer: Answer<object>
}

/**
 * Random calls of agents and people, in random time, each to any gateway of a fleet on one store.
 * Every answer equals the answer of the model, by the policy that the gateway has loaded.
 * The gateways answer simultaneous calls as in some order of them.
 * The game pursues every order that explains the answers.
 */
export class Game {
  readonly #seen = new Set<string>()
  readonly #worlds: readonly World[]
  readonly #seats: readonly Seat[]
  readonly #dice: Dice
  #models: readonly ContractModel[]
  readonly #agents = new Map<string, string>()
  readonly #people = new Map<string, string>()
  readonly #tokens: Minted[] = []
  readonly #tasks = ['one', 'two', 'three']
  #contests = 0
  /** Counts groups of simultaneous calls whose order made a difference. */
  contended = 0

  constructor(worlds: readonly [World, ...World[]], seed: number) {
    this.#worlds = worlds
    this.#dice = diceOf(seed)
    this.#models = [new ContractModel(() => worlds[0].clock.now)]
    this.#seats = worlds.map((world) => ({
      world,
      bundle: 'first',
      agent: (id) => new Agent(world, this.#agents.get(id) ?? expect.fail()),
      person: (id) => new Reviewer(world, this.#people.get(id) ?? expect.fail()),
    }))
  }

  async begin(): Promise<void> {
    for (const id of PEOPLE) this.#people.set(id, (await this.#seat().world.reviewer(id)).key)
    for (const id of Object.keys(AGENTS)) await this.#rotate(id)
  }

  /** Returns the names of the events that the game has met. */
  end(): ReadonlySet<string> {
    for (const one of this.#model().seen()) this.#seen.add(one)
    return this.#seen
  }

  async step(): Promise<void> {
    const acts = [
      ...Array<() => Promise<void>>(4).fill(() => this.#submit()),
      ...Array<() => Promise<void>>(6).fill(() => this.#poll()),
      ...Array<() => Promise<void>>(9).fill(() => this.#vote()),
      ...Array<() => Promise<void>>(3).fill(() => this.#validate()),
      ...Array<() => Promise<void>>(4).fill(() => this.#revise()),
      () => this.#withdraw(),
      ...Array<() => Promise<void>>(this.#seats.length > 1 ? 6 : 1).fill(() => this.#together()),
      ...Array<() => Promise<void>>(2).fill(() => this.#pass()),
      () => this.#seldom(),
    ]
    await this.#pick(acts)()
  }

  #pick<T>(list: readonly T[]): T {
    return this.#dice.one(list) as T
  }

  #seat(): Seat {
    return this.#pick(this.#seats)
  }

  /** Any of the possible states, from which the game draws the next call. */
  #model(): ContractModel {
    return this.#models[0] ?? expect.fail()
  }

  /** Plays one call at a random gateway. */
  async #play(move: Move): Promise<Answer<object>> {
    return (await this.#playAll([move]))[0] ?? expect.fail()
  }

  /** Plays calls at the same time, each at a random gateway. */
  async #playAll(moves: readonly Move[]): Promise<readonly Answer<object>[]> {
    this.#advance(1)
    const asked = moves.map((move) => ({ move, seat: this.#seat() }))
    const played = await Promise.all(
      asked.map(async ({ move, seat }): Promise<Played> => ({ move, seat, answer: await move.ask(seat) })),
    )
    this.#explain(played)
    const answers = played.map(({ answer }) => answer)
    for (const answer of answers) {
      const token = tokenIn(answer)
      if (token !== undefined) this.#tokens.push({ token, thread: threadIn(answer) })
    }
    return answers
  }

  /** Keeps the states of the model that these answers leave possible. */
  #explain(played: readonly Played[]): void {
    const [one] = played
    if (this.#models.length === 1 && played.length === 1 && one !== undefined)
      return void this.#seen.add(told(this.#model(), one, true))
    const left = new Map<string, ContractModel>()
    let why: unknown
    let impossible = false
    for (const model of this.#models)
      for (const order of ordersOf(played)) {
        const tried = model.copy()
        try {
          const names = order.map((one) => told(tried, one, played.length === 1))
          for (const name of names) this.#seen.add(name)
          left.set(tried.fingerprint(), tried)
        } catch (error) {
          why ??= error
          impossible = true
        }
      }
    if (left.size === 0) throw why
    if (impossible && played.length > 1) this.contended++
    this.#models = [...left.values()]
    expect(left.size).toBeLessThan(MOST_MODELS)
  }

  #advance(ms: number): void {
    for (const { clock } of this.#worlds) clock.advance(ms)
  }

  /** An id of a thread: often a new thread, sometimes an old or a missing thread. */
  #thread(): string {
    const names = [...this.#model().threads.keys()]
    if (this.#dice.once(25) || names.length === 0) return 'thr_00000000000000000000000000'
    return this.#pick(this.#dice.once(5) ? names : names.slice(-4))
  }

  #pay(): Pay {
    const amount = this.#pick([50, 50, 500, 500, 20_000, 60_000, 999_999, 0, undefined])
    const to = this.#pick([undefined, undefined, 'bob', 'audit-7'])
    return { ...(amount !== undefined && { amount }), ...(to !== undefined && { to }) }
  }

  async #submit(): Promise<void> {
    const call = this.#aSubmission()
    await this.#play(submission(call))
    // a runtime without an answer asks again
    if (call.idempotencyKey !== undefined && this.#dice.once(2)) await this.#play(submission(call))
  }

  #aSubmission(): Submission {
    const dice = this.#dice
    const agent = this.#pick(Object.keys(AGENTS))
    const tool = dice.once(2) ? 'pay' : this.#pick(TOOLS)
    return {
      agent,
      task: this.#pick(this.#tasks),
      tool,
      payload: tool === 'pay' ? this.#pay() : {},
      ...(dice.once(2) && { hash: this.#pick(HASHES) }),
      ...(dice.once(4) && { risk: this.#pick(RISKS) }),
      ...(dice.once(4) && { idempotencyKey: `k${dice.below(4)}` }),
    }
  }

  async #poll(): Promise<void> {
    await this.#play(this.#aLook(this.#thread()))
  }

  #aLook(thread: string): Move {
    const { agent: owner = 'bot', task: own = 'one' } = this.#model().threads.get(thread) ?? {}
    const agent = this.#dice.once(20) ? this.#pick(Object.keys(AGENTS)) : owner
    const task = this.#dice.once(8) ? this.#pick(this.#tasks) : own
    return look(agent, this.#pick([{ thread }, { thread }, { task }, { thread, task }]))
  }

  async #validate(): Promise<void> {
    if (this.#dice.once(4)) return this.#reissue()
    const minted = this.#dice.once(4) ? this.#pick(this.#tokens) : this.#tokens.at(-1)
    if (minted === undefined) return
    await this.#play(this.#aRedemption(minted))
    await this.#end(minted)
  }

  #aRedemption(minted: Minted): Move {
    const dice = this.#dice
    const right = this.#claimOf(minted)
    const wrong: Partial<Claim>[] = [
      { agent: this.#pick(Object.keys(AGENTS)) },
      { task: 'another' },
      { payload: { amount: 51 } },
      { thread: this.#thread() },
      { hash: this.#pick(HASHES) },
      { token: 'cst_none' },
    ]
    return redemption(dice.once(3) ? { ...right, ...this.#pick(wrong) } : right)
  }

  #claimOf({ token, thread: id }: Minted): Claim {
    const thread = this.#model().threads.get(id) ?? expect.fail()
    const { agent, task, payload, hash } = thread
    const proof = thread.v2 ? { thread: id, ...(hash !== undefined && { hash }) } : {}
    return { agent, token, task, payload, ...proof }
  }

  async #vote(): Promise<void> {
    const thread = this.#thread()
    const cast = this.#aVote(thread)
    await this.#play(cast)
    if (this.#dice.once(6)) await this.#play(cast)
    const { agent } = this.#model().threads.get(thread) ?? {}
    // the agent that waits for it
    if (agent !== undefined && this.#dice.once(2)) await this.#play(look(agent, { thread }))
  }

  #aVote(thread: string): Move {
    const who = this.#pick(PEOPLE)
    const { revision: current = 1 } = this.#model().threads.get(thread) ?? {}
    const decision = this.#dice.once(7)
      ? this.#pick(['reject', 'request_changes', 'request_changes'] as const)
      : ('approve' as const)
    const number = this.#dice.once(15) ? this.#pick([undefined, current + 1]) : current
    return vote({ who, thread, decision, ...(number !== undefined && { revision: number }) })
  }

  async #revise(): Promise<void> {
    const change = this.#aChange(this.#thread())
    await this.#play(revision(change))
    // a runtime without an answer asks again
    if (this.#dice.once(4)) await this.#play(revision(change))
  }

  #aChange(thread: string): Change {
    const dice = this.#dice
    const {
      agent = 'bot',
      task: own = 'one',
      tool: its = 'pay',
      v2 = false,
    } = this.#model().threads.get(thread) ?? {}
    const task = dice.once(12) ? this.#pick(this.#tasks) : own
    const tool = dice.once(12) ? this.#pick(['pay', 'hold'] as const) : its
    const payload = tool === 'pay' ? this.#pay() : {}
    const hash = v2 !== dice.once(12) ? { hash: this.#pick(HASHES) } : {}
    return { agent, task, thread, revisionId: `r${dice.below(6)}`, tool, payload, ...hash }
  }

  async #withdraw(): Promise<void> {
    const redeemed = [...this.#model().threads].flatMap(([id, one]) => (one.redeemed ? [id] : []))
    const thread = this.#dice.once(6) && redeemed.length > 0 ? this.#pick(redeemed) : this.#thread()
    const { agent: owner = 'bot' } = this.#model().threads.get(thread) ?? {}
    const agent = this.#dice.once(8) ? this.#pick(Object.keys(AGENTS)) : owner
    await this.#play(withdrawal(agent, thread))
    if (this.#dice.once(4)) await this.#play(withdrawal(agent, thread))
    if (this.#dice.once(2)) await this.#play(look(owner, { thread }))
  }

  /** Reports how a call ended: twice, and then differently. It draws nothing, so that the rest of the game stays. */
  async #end({ thread }: Minted): Promise<void> {
    const { agent, task, hash } = this.#model().threads.get(thread) ?? {}
    const [seat] = this.#seats
    if (agent === undefined || task === undefined || hash === undefined || seat === undefined) return
    const end = { agent, task, thread, hash, outcome: 'executed' } as const
    for (const one of [{ ...end, hash: 'c'.repeat(64) }, end, end, { ...end, outcome: 'failed' } as const]) {
      const move = ending(one)
      this.#explain([{ move, seat, answer: await move.ask(seat) }])
    }
  }

  /** Asks for new tokens, mostly of calls whose token was handed out, and sometimes above the limit. */
  async #reissue(): Promise<void> {
    const collected = [...this.#model().threads].filter(([, one]) => one.collected).map(([id]) => id)
    const recent = collected.slice(-3)
    const thread = this.#dice.once(4) || recent.length === 0 ? this.#thread() : this.#pick(recent)
    const { agent: owner = 'bot' } = this.#model().threads.get(thread) ?? {}
    const agent = this.#dice.once(10) ? this.#pick(Object.keys(AGENTS)) : owner
    for (let i = this.#dice.once(2) ? 6 : 1; i > 0; i--) await this.#play(replacement(agent, thread))
  }

  /** Plays calls of a contest at the same time, and perhaps a freeze. */
  async #together(): Promise<void> {
    const task = `contest-${++this.#contests}`
    const calls = await this.#pick(CONTESTS)((move) => this.#play(move), task)
    const some = (count: number): Move[] => {
      const left = [...calls]
      return Array.from({ length: count }, () => left.splice(this.#dice.below(left.length), 1)).flat()
    }
    if (!this.#dice.once(4)) return void (await this.#playAll(some(2 + this.#dice.below(2))))
    const scope = this.#pick(SCOPES)
    await this.#playAll([freezing('freeze', scope), ...some(1 + this.#dice.below(2))])
    await this.#playAll([freezing('unfreeze', scope), ...some(1)])
  }

  async #pass(): Promise<void> {
    this.#advance(this.#pick([1, 999, 30_000, MINUTE, 5 * MINUTE, 10 * MINUTE, 31 * MINUTE, HOUR, 5 * HOUR]))
    if (this.#dice.once(3)) return
    const seat = this.#seat()
    const alike = this.#seats.every(({ bundle }) => bundle === seat.bundle)
    // where all gateways have the same policy, any of them may do the work
    await Promise.all((alike ? this.#worlds : [seat.world]).map((world) => world.due()))
    this.#knows((model) => {
      model.change(seat.bundle)
      model.due()
    })
  }

  #knows(act: (model: ContractModel) => void): void {
    for (const model of this.#models) act(model)
  }

  async #seldom(): Promise<void> {
    if (this.#dice.once(3)) return this.#replaceKey()
    if (this.#dice.once(2)) return this.#wait()
    const scope = this.#pick(SCOPES)
    const call: Submission = {
      agent: 'other',
      task: 'one',
      tool: 't',
      payload: {},
      idempotencyKey: `f${this.#dice.below(1_000)}`,
    }
    await this.#play(submission(call))
    await this.#play(freezing('freeze', scope))
    for (let i = this.#dice.below(4); i > 0; i--) await this.#submit()
    if (this.#dice.once(2)) await this.#poll()
    await this.#play(freezing('unfreeze', scope))
    // the gateway judges this call again, which it may have allowed before
    await this.#play(submission(call))
  }

  /** A chair of the leads stays empty until the board may take it. Hal of the board has voted as an auditor. */
  async #wait(): Promise<void> {
    const payload = { amount: 20_000, to: 'audit-7' }
    const answer = await this.#play(submission({ agent: 'other', task: 'four', tool: 'pay', payload }))
    const thread = threadIn(answer) || this.#thread()
    for (const who of ['hal', 'dan', 'ann'])
      await this.#play(vote({ who, thread, decision: 'approve', revision: 1 }))
    this.#advance(31 * MINUTE)
    await this.#play(look('other', { thread }))
  }

  /**
   * Reads approvals of one policy under the next.
   * After each gateway has loaded the next policy, the game makes `meanwhile` calls.
   */
  async change(bundle: Bundle, meanwhile = 0): Promise<void> {
    for (const [agent, ...people] of [
      ['other', 'ann', 'eve'],
      ['unsigned', 'ann', 'eve'],
      ['selfie', 'ann', 'olga'],
    ] as const) {
      const call = { agent, task: 'five', tool: 'pay', payload: { amount: 29_990 } } as const
      const thread = threadIn(await this.#play(submission(call))) || this.#thread()
      for (const who of people) await this.#play(vote({ who, thread, decision: 'approve', revision: 1 }))
      if (agent !== 'selfie' || this.#dice.once(2)) await this.#play(look(agent, { thread }))
    }
    const grown = { agent: 'other', task: 'six', tool: 'grow', payload: {} } as const
    const thread = threadIn(await this.#play(submission(grown))) || this.#thread()
    await this.#play(vote({ who: 'ann', thread, decision: 'approve', revision: 1 }))
    if (this.#dice.once(2)) await this.#play(look('other', { thread }))
    for (const seat of this.#seats) {
      await seat.world.changePolicies(BUNDLES[bundle])
      seat.bundle = bundle
      for (let i = 0; i < meanwhile; i++) await this.step()
    }
    for (const minted of this.#tokens.slice(-2)) await this.#play(redemption(this.#claimOf(minted)))
    await this.#play(look('other', { thread }))
    for (const who of ['ben', 'dan'])
      await this.#play(vote({ who, thread, decision: 'approve', revision: 1 }))
    for (const agent of ['other', 'unsigned', 'selfie']) {
      await this.#play(look(agent, { task: 'five' }))
      // is there room for it?
      await this.#play(submission({ agent, task: 'five', tool: 'pay', payload: { amount: 50 } }))
    }
  }

  async #replaceKey(): Promise<void> {
    const agent = this.#pick(Object.keys(AGENTS))
    const { world } = this.#seat()
    const old = new Agent(world, this.#agents.get(agent) ?? '')
    await this.#rotate(agent)
    const answer = await old.submit('one', { tool_name: 't' })
    this.#seen.add(compare('submit', answer, { http: 401, code: 'unauthenticated' }))
  }

  async #rotate(id: string): Promise<void> {
    const { key } = await this.#seat().world.agent(id)
    this.#agents.set(id, key)
    this.#knows((model) => model.rotate(id, key))
  }
}

/** Gives the model the question that the gateway answered, and compares the answers. */
function told(model: ContractModel, { move, seat, answer }: Played, alone: boolean): string {
  model.change(seat.bundle)
  const expected = move.expected(model)
  const name = move.check(answer, expected, alone)
  move.tell(model, answer, expected)
  return name
}

function ordersOf<T>(list: readonly T[]): T[][] {
  if (list.length < 2) return [[...list]]
  return list.flatMap((one, i) => ordersOf(list.toSpliced(i, 1)).map((rest) => [one, ...rest]))
}
