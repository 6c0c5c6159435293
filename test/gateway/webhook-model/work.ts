import { expect } from 'vitest'
import { HOUR, MINUTE, SECOND, type World } from '../../gateway-fixture.ts'
import type { Board } from './board.ts'

/**
 * Acts of agents and people in the game, which cause events.
 * The evidence says what has happened, whatever the gateway answers them.
 */

export const AGENTS = [
  ['bot', 'acme'],
  ['other', 'acme'],
  ['unsigned', 'acme'],
  ['short', 'acme'],
  ['bot', 'globex'],
] as const
export const PEOPLE = [
  ['ann', 'acme'],
  ['ben', 'acme'],
  ['eve', 'acme'],
  ['olga', 'acme'],
  ['zoe', 'globex'],
  ['xia', 'globex'],
] as const

/** Some of them look like messages of the gateway. */
const COMMENTS = [
  undefined,
  'no',
  'expired: the card of the customer',
  'frozen: as it is',
  'policy_changed: not that I knew',
]
const TOOLS = ['t', 't', 'bare', 'hold', 'brief', 'pay', 'pay', 'pay']
const AMOUNTS = [50, 500, 500, 20_000, 20_000, 60_000, 999_999]

interface Case {
  readonly agent: string
  readonly tenant: string
  readonly task: string
  readonly tool: string
  readonly thread: string
  payload: unknown
  token?: string
}

export class Work {
  readonly #board: Board
  readonly #cases: Case[] = []
  #count = 0

  constructor(board: Board) {
    this.#board = board
  }

  #agent(world: World, { tenant, agent }: Pick<Case, 'tenant' | 'agent'>) {
    return this.#board.fleet.agent(world, `${tenant}/${agent}`)
  }

  async submit(tool = this.#board.pick(TOOLS), amount = this.#board.pick(AMOUNTS)): Promise<void> {
    const { dice, proposed } = this.#board
    const [agent, tenant] = this.#board.pick(AGENTS)
    const task = `case-${++this.#count}`
    const { payload, workflow } = this.#proposal(tool, amount)
    const workflow_name = workflow === undefined ? {} : { workflow_name: workflow }
    proposed.set(task, { payload, ...(workflow !== undefined && { workflow }) })
    const key: Record<string, string> = dice.once(3) ? { 'idempotency-key': task } : {}
    const body = { tool_name: tool, payload, ...workflow_name }
    const world = this.#board.world()
    const answer = await this.#agent(world, { tenant, agent }).submit(task, body, key)
    // a runtime without an answer asks again; the event still happens once
    const again =
      'idempotency-key' in key && (answer.status === 503 || dice.once(2))
        ? await this.#agent(this.#board.world(), { tenant, agent }).submit(task, body, key)
        : answer
    const { thread_id: thread } = again.body
    if (again.status === 200 && thread !== undefined)
      this.#cases.push({ agent, tenant, task, tool, thread, payload })
  }

  #proposal(
    tool: string,
    amount: number,
  ): {
    readonly payload: Record<string, unknown>
    readonly workflow: string | undefined
  } {
    const { dice } = this.#board
    const number = ++this.#count
    const secret = dice.once(3) ? { secret: `sesame-${number}` } : {}
    const payload = tool === 'pay' ? { amount, to: `zebra-${number}`, ...secret } : { to: `zebra-${number}` }
    return { payload, workflow: dice.once(2) ? `workflow-${number}` : undefined }
  }

  /** A recent case, or any case. */
  #case(): Case | undefined {
    const { dice } = this.#board
    return this.#board.dice.one(dice.once(5) ? this.#cases : this.#cases.slice(-5))
  }

  async vote(decision = this.#board.pick(VOTES), one = this.#case()): Promise<void> {
    if (one === undefined) return
    const comment = this.#board.pick(COMMENTS)
    for (const [who, tenant] of PEOPLE) {
      if (tenant !== one.tenant || this.#board.dice.once(2)) continue
      const world = this.#board.world()
      const person = this.#board.fleet.person(world, `${tenant}/${who}`)
      const { body } = await person.show(one.thread)
      const revision = body.revision ?? 1
      await person.vote(one.thread, { decision, revision, ...(comment !== undefined && { comment }) })
    }
  }

  async poll(one = this.#case()): Promise<void> {
    if (one === undefined) return
    const { body } = await this.#agent(this.#board.world(), one).poll({ thread_id: one.thread })
    if (body.approval_token !== undefined) one.token = body.approval_token
  }

  async redeem(): Promise<void> {
    const one = this.#board.dice.one(this.#cases.filter(({ token }) => token !== undefined).slice(-3))
    if (one === undefined) return
    const { task, payload, token } = one
    const proof = { task_id: task, request_payload: payload, signature: token }
    await this.#agent(this.#board.world(), one).validate(proof)
  }

  async revise(one = this.#case()): Promise<void> {
    if (one === undefined) return
    const { payload, workflow } = this.#proposal(one.tool, this.#board.pick(AMOUNTS))
    const revision_id = `revision-${this.#count}`
    this.#board.proposed.set(revision_id, { payload, ...(workflow !== undefined && { workflow }) })
    const revision = {
      revision_id,
      tool_name: one.tool,
      request_payload: payload,
      ...(workflow !== undefined && { workflow_name: workflow }),
    }
    const { status } = await this.#agent(this.#board.world(), one).revise(one.task, one.thread, revision)
    if (status < 300) one.payload = payload
  }

  async withdraw(one = this.#case()): Promise<void> {
    if (one === undefined) return
    const reason = this.#board.dice.once(2) ? { reason: 'expired: so the agent says' } : {}
    await this.#agent(this.#board.world(), one).withdraw(one.thread, reason)
  }

  async freeze(): Promise<void> {
    const body = {
      tenant: 'acme',
      agent: this.#board.pick(['bot', 'other']),
      reason: 'expired: it was good once',
    }
    expect((await this.#board.world().admin('POST', 'freeze', { body })).status).toBe(200)
    await this.submit()
    await this.poll()
    expect((await this.#board.world().admin('POST', 'unfreeze', { body })).status).toBe(204)
  }

  /** Plays a case from its beginning, as far as it gets. */
  async life(): Promise<void> {
    await this.submit(this.#board.pick(['pay', 'pay', 'hold']))
    const one = this.#cases.at(-1)
    const acts = [
      () => this.vote('approve', one),
      () => this.vote(undefined, one),
      () => this.revise(one),
      () => this.vote(undefined, one),
      () => this.vote('approve', one),
      () => this.poll(one),
      () => this.redeem(),
      () => (this.#board.dice.once(4) ? this.withdraw(one) : Promise.resolve()),
    ]
    for (const act of acts) if (!this.#board.dice.once(4)) await act()
  }

  /** Many calls at once: more than the deliveries that a gateway makes at the same time. */
  async burst(): Promise<void> {
    await Promise.all(Array.from({ length: 20 + this.#board.dice.below(20) }, () => this.submit('t')))
  }
}

const VOTES = ['approve', 'approve', 'approve', 'reject', 'request_changes'] as const

export const PAUSES = [SECOND, 6 * SECOND, MINUTE, 6 * MINUTE, 31 * MINUTE, HOUR, 9 * HOUR, 25 * HOUR]
