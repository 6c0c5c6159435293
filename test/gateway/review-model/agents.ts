import { expect } from 'vitest'
import type { Agent, World } from '../../gateway-fixture.ts'
import type { Dice } from '../../random.ts'
import type { Call, ReviewModel, Thread } from './model.ts'

const SUBJECTS = ['a heron', 'a plover', 'a heron and a plover']

/** The agents of the game, which give people something to do. */
export class Agents {
  readonly #world: World
  readonly #model: ReviewModel
  readonly #dice: Dice
  readonly #agents = new Map<string, Agent>()
  #revisions = 0

  constructor(world: World, model: ReviewModel, dice: Dice) {
    this.#world = world
    this.#model = model
    this.#dice = dice
  }

  async begin(): Promise<void> {
    for (const id of ['bot', 'other', 'selfie']) this.#agents.set(id, await this.#world.agent(id))
  }

  get names(): string[] {
    return [...this.#agents.keys()]
  }

  /** Opens a thread: of the amount, or of a random call. */
  async propose(amount?: number): Promise<string> {
    const dice = this.#dice
    const tool = amount === undefined ? (dice.one(['hold', 'pay', 'pay', 'brief'] as const) ?? 'pay') : 'pay'
    const agent = (tool === 'brief' ? 'bot' : dice.one(this.names)) ?? 'bot'
    const call: Call = { agent, task: dice.once(2) ? 'one' : 'two', tool, ...this.#proposal(tool, amount) }
    const body = { tool_name: tool, payload: call.payload, subject: call.subject }
    const answer = await this.#agent(agent).submit(call.task, body)
    expect([answer.status, answer.body.status]).toEqual([200, 'pending_review'])
    const id = answer.body.thread_id ?? ''
    this.#model.opened(id, call)
    return id
  }

  async poll(id: string, thread: Thread): Promise<void> {
    const { body } = await this.#agent(thread.agent).poll({ thread_id: id })
    expect(body.status).toBe(this.#model.poll(thread))
  }

  async revise(id: string, thread: Thread, amount?: number): Promise<void> {
    const proposal = this.#proposal(thread.tool, amount)
    const revision = {
      revision_id: `r${this.#revisions++}`,
      tool_name: thread.tool,
      request_payload: proposal.payload,
      subject: proposal.subject,
    }
    const { status } = await this.#agent(thread.agent).revise(thread.task, id, revision)
    expect(status).toBe(this.#model.revise(thread, proposal))
  }

  async withdraw(id: string, thread: Thread): Promise<void> {
    const { status } = await this.#agent(thread.agent).withdraw(id)
    expect(status).toBe(this.#model.withdraw(thread))
  }

  #proposal(tool: string, asked?: number): Pick<Call, 'payload' | 'subject'> {
    const amount = asked ?? this.#dice.one([500, 20_000, 60_000, 60_000]) ?? 500
    const to = this.#dice.once(3) ? { to: 'audit-7' } : {}
    const subject = this.#dice.one(SUBJECTS) ?? ''
    return { payload: tool === 'pay' ? { amount, ...to } : {}, subject }
  }

  #agent(id: string): Agent {
    return this.#agents.get(id) ?? expect.fail()
  }
}
