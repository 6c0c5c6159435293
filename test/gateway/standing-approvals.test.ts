// @store each
import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../src/contract/errors.ts'
import type { Seat } from '../../src/domain/decision.ts'
import type { Thread } from '../../src/domain/thread.ts'
import { freeze, unfreeze } from '../../src/gateway/admin/freeze.ts'
import { redeem } from '../../src/gateway/agent/redeem.ts'
import { reissue } from '../../src/gateway/agent/reissue.ts'
import { submit } from '../../src/gateway/agent/submit.ts'
import { identify } from '../../src/gateway/auth/identify.ts'
import type { Caller } from '../../src/gateway/core/caller.ts'
import type { Deps } from '../../src/gateway/core/deps.ts'
import { INDEX } from '../../src/gateway/core/indexes.ts'
import { read } from '../../src/gateway/core/records.ts'
import { runDue } from '../../src/gateway/jobs/scheduler.ts'
import { showThread } from '../../src/gateway/review/show-thread.ts'
import { vote } from '../../src/gateway/review/vote.ts'
import { BUNDLE } from '../bundle.ts'
import { HOUR, MINUTE, newTask, openWorld, SECOND, type World } from '../gateway-fixture.ts'
import { type Dice, diceOf } from '../random.ts'
import { rounds } from '../runs.ts'
import { gatewayWith, pollAt, type Snapshot, snapshotOf } from './gateways.ts'

/**
 * Random histories of one call at two gateways, whose bundles and directories change. At each use, people in force fill
 * every seat of the requirement in force on the gateway that answered. Limits and history have the last approval only,
 * and time ends every call.
 */

const HISTORIES = rounds({ check: 100, short: 1_000, long: 20_000 })
/** Histories in one world: the evidence of each is replayed at its end. */
const PER_WORLD = 250
const STEPS = 14
/** Histories whose calls end together. */
const TOGETHER = 50

const AMOUNT = 250
const WEEK = 168 * HOUR
const PEOPLE = ['ann', 'ben', 'cat', 'eve'] as const
type Person = (typeof PEOPLE)[number]
const DIRECTORY = (BUNDLE['directory.yaml'] ?? '')
  .replace('tools: [t, pay,', 'tools: [spend, t, pay,')
  .replace('{ owners: [olga], signed', '{ owners: [olga], tools: [spend], signed')
const BEN = '      ben:  { name: Ben Bay, groups: [desk, board] }\n'
const FILES = {
  'directory.yaml': DIRECTORY,
  'tools/spend.yaml': `tool: spend
description: Spend money.
risk: low
labels: [money]
input_schema:
  type: object
  required: [amount]
  properties: { amount: { type: integer, minimum: 0 } }
`,
  'rules/spend.yaml': `tool: spend
rules:
  - id: spend-more
    review: Always.
limits:
  - id: spend-daily
    review: Too much in a task.
    sum: payload.amount
    at_most: 300
    within: 7d
    per: task
`,
}

/** A bundle or a withdrawal, with what it asks for: the oracle reads no snapshot. */
interface Policy {
  readonly name: string
  readonly snapshot: Snapshot
  /** Undefined when it rejects. */
  readonly seats: readonly Seat[] | undefined
  readonly people: Readonly<Record<Person, readonly string[] | undefined>>
}

const seat = (group: string, approvals: number, escalate: Seat['escalate'] = []): Seat => ({
  group,
  approvals,
  escalate,
})
const GROUPS = {
  ann: ['desk', 'leads', 'board'],
  ben: ['desk', 'board'],
  cat: ['desk', 'audit'],
  eve: ['board', 'leads'],
}

async function policies(): Promise<Policy[]> {
  const rule = (text: string) => ({
    'rules/spend.yaml': FILES['rules/spend.yaml'].replace('review: Always.', text),
  })
  const lax = await snapshotOf(FILES)
  const left = await snapshotOf({ ...FILES, 'directory.yaml': DIRECTORY.replace(BEN, '') })
  const critical = await snapshotOf({ ...FILES, ...rule('review: Always.\n    risk: critical') })
  const newer = { digest: 'd'.repeat(64), directory: left.directory }
  const withdrawn = (whole: Snapshot): Snapshot => (whole as typeof lax & Withdrawing).without(newer)
  const withoutBen = { ...GROUPS, ben: undefined }
  const high = [seat('leads', 1, [{ group: 'board', after_ms: 30 * MINUTE }])]
  const one = [seat('desk', 1)]
  const two = [seat('board', 2)]
  return [
    { name: 'lax', snapshot: lax, seats: one, people: GROUPS },
    { name: 'critical', snapshot: critical, seats: two, people: GROUPS },
    {
      name: 'high',
      snapshot: await snapshotOf({ ...FILES, ...rule('review: Always.\n    risk: high') }),
      seats: high,
      people: GROUPS,
    },
    {
      name: 'reject',
      snapshot: await snapshotOf({ ...FILES, ...rule('reject: Never.') }),
      seats: undefined,
      people: GROUPS,
    },
    { name: 'ben left', snapshot: left, seats: one, people: withoutBen },
    { name: 'ben withdrawn', snapshot: withdrawn(lax), seats: one, people: withoutBen },
    { name: 'ben withdrawn, critical', snapshot: withdrawn(critical), seats: two, people: withoutBen },
  ]
}
interface Withdrawing {
  without(newer: { readonly digest: string; readonly directory: Snapshot['directory'] }): Snapshot
}

/** True when these people fill every seat, each one seat: tries all ways. */
function fills(seats: readonly Seat[], people: readonly (readonly string[])[], elapsed: number): boolean {
  const [chair, ...rest] = seats.flatMap((one) =>
    Array.from({ length: one.approvals }, () => ({ ...one, approvals: 1 })),
  )
  if (chair === undefined) return true
  const late = chair.escalate.filter(({ after_ms }) => elapsed >= after_ms).map(({ group }) => group)
  return people.some(
    (groups, i) =>
      [chair.group, ...late].some((group) => groups.includes(group)) &&
      fills(rest, people.toSpliced(i, 1), elapsed),
  )
}

class History {
  readonly #world: World
  readonly #dice: Dice
  readonly #policies: readonly Policy[]
  readonly #people: Readonly<Record<Person, Caller>>
  readonly #agent: Caller
  readonly #admin = { actor: { kind: 'admin', id: 'admin' } } as const
  /** The policy of each gateway. */
  readonly #in: [Policy, Policy]
  readonly #gateways: readonly [Deps, Deps]
  readonly #task = newTask()
  readonly #frozen = new Set<Person>()
  /** Votes that a later freeze made void. */
  readonly #void = new Set<Person>()
  readonly #tokens = new Set<string>()
  readonly #seed: number
  readonly #said: string[] = []
  #thread = ''
  #limit = ''
  used = false

  constructor(world: World, seed: number, setup: Setup) {
    this.#world = world
    this.#seed = seed
    this.#dice = diceOf(seed)
    this.#policies = setup.policies
    this.#people = setup.people
    this.#agent = this.#dice.once(4) ? setup.unsigned : setup.bot
    const first = this.#policies[0] as Policy
    this.#in = [first, first]
    this.#gateways = [0, 1].map((i) =>
      gatewayWith(world, () => (this.#in[i] as Policy).snapshot),
    ) as unknown as [Deps, Deps]
  }

  /** Adds the history to an error. */
  async named(act: () => Promise<void>): Promise<void> {
    await act().catch((error: Error) => {
      error.message = `seed ${this.#seed}: ${this.#said.join(', ')}: ${error.message}`
      throw error
    })
  }

  async play(): Promise<void> {
    const request = { tool_name: 'spend', payload: { amount: AMOUNT } }
    const { answer } = await submit(this.#gateways[0], this.#agent, {
      taskId: this.#task,
      idempotencyKey: undefined,
      request,
    } as never)
    this.#thread = answer.thread_id ?? ''
    this.#limit = (await this.#read()).charges?.[0]?.limit ?? ''
    for (let step = 0; step < STEPS; step++) await this.#step()
    await this.#holds()
    for (const person of this.#frozen) await this.#freeze(person)
  }

  async #step(): Promise<void> {
    const { below, once, one } = this.#dice
    const act = below(20)
    if (act < 3) {
      const policy = one(this.#policies) as Policy
      const at = below(3)
      if (at !== 1) this.#in[0] = policy
      if (at !== 0) this.#in[1] = policy
      this.#said.push(`${policy.name} at ${['the first', 'the second', 'both'][at]}`)
    } else if (act < 4) await this.#freeze(one(PEOPLE) as Person)
    else if (act < 5) {
      const ms = one([SECOND, MINUTE, 16 * MINUTE, 31 * MINUTE, 5 * HOUR]) as number
      this.#world.clock.advance(ms)
      this.#said.push(`after ${ms / SECOND} s`)
    } else if (act < 6) await this.#attempt('timer', (deps) => runDue(deps))
    else if (once(3)) await Promise.all([this.#call(), this.#call()])
    else await this.#call()
  }

  /** An act that may happen at the same time as another one. */
  async #call(): Promise<void> {
    const { below, once, one } = this.#dice
    const person = one(PEOPLE) as Person
    const caller = this.#people[person]
    const act = below(12)
    if (act < 5) {
      const decision = once(8) ? 'reject' : 'approve'
      const ballot = { thread_id: this.#thread, vote: { decision, revision: 1 } } as const
      const done = await this.#attempt(`${person} ${decision}`, (deps) => vote(deps, caller, ballot))
      if (done !== undefined) this.#void.delete(person)
    } else if (act < 8) await this.#poll()
    else if (act < 9) await this.#attempt(`${person} shows`, (deps) => showThread(deps, caller, this.#thread))
    else if (act < 10) {
      const again = await this.#attempt('reissue', (deps) => reissue(deps, this.#agent, this.#thread))
      if (again?.answer.approval_token !== undefined) this.#tokens.add(again.answer.approval_token)
    } else await this.#redeem()
  }

  async #attempt<T>(what: string, act: (deps: Deps, policy: Policy) => Promise<T>): Promise<T | undefined> {
    const at = this.#dice.below(2)
    try {
      const done = await act(this.#gateways[at] as Deps, this.#in[at] as Policy)
      this.#said.push(`${what} at ${at}`)
      return done
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      this.#said.push(`${what} at ${at}: ${error.code}`)
      return undefined
    }
  }

  async #poll(): Promise<void> {
    await this.#attempt('poll', async (deps, policy) => {
      const answer = await pollAt(deps, this.#agent, this.#thread)
      if (answer.approval_token !== undefined) this.#tokens.add(answer.approval_token)
      const isUse = answer.status === 'approved' && this.#agent.id === 'unsigned' && !this.used
      if (isUse) await this.#uses(policy)
      return answer
    })
  }

  async #redeem(): Promise<void> {
    const signature = this.#dice.one([...this.#tokens])
    if (signature === undefined) return
    const proof = { task_id: this.#task, signature, request_payload: { amount: AMOUNT } }
    await this.#attempt('redeem', async (deps, policy) => {
      const { answer } = await redeem(deps, this.#agent, proof)
      if (answer.valid) {
        expect(this.used, 'redeemed twice').toBe(false)
        await this.#uses(policy)
      }
    })
  }

  /** The law of this file. */
  async #uses({ name, seats, people }: Policy): Promise<void> {
    this.used = true
    const { votes, submitted_at, requirement, approval } = await this.#read()
    const elapsed = this.#world.clock.now - submitted_at
    const last = new Map(votes.map(({ reviewer, decision }) => [reviewer as Person, decision]))
    const inForce = [...last].flatMap(([person, decision]) =>
      decision === 'approve' && !this.#void.has(person) && !this.#frozen.has(person)
        ? [people[person] ?? []]
        : [],
    )
    const wanted = [seats, requirement.seats].map((one) => one !== undefined && fills(one, inForce, elapsed))
    expect([name, approval?.seated !== undefined, ...wanted]).toEqual([name, true, true, true])
  }

  async #freeze(person: Person): Promise<void> {
    const request = { tenant: 'acme', reviewer: person, reason: 'random' }
    await this.#attempt(`freeze or unfreeze ${person}`, async (deps) => {
      if (this.#frozen.has(person)) {
        await unfreeze(deps, this.#admin, request)
        this.#frozen.delete(person)
      } else {
        await freeze(deps, this.#admin, request)
        this.#frozen.add(person)
        this.#void.add(person)
      }
    })
  }

  /** Limits and history have the last approval only. */
  async #holds(): Promise<void> {
    const { store } = this.#world.app.deps
    const { status, charges, approval } = await this.#read()
    const isCharged = this.used || (status === 'approved' && charges !== undefined)
    expect(await store.charged('acme', this.#limit, WEEK)).toBe(isCharged ? AMOUNT : 0)
    if (isCharged) expect(approval).toBeDefined()
    const noted = await store.range('acme', INDEX.taskHistory(this.#agent.id, this.#task), { limit: 9 })
    if (approval === undefined) return
    expect(noted.map(({ member }) => member)).toEqual(['l money', 't spend'])
    for (const { score } of noted) {
      expect(score).toBeGreaterThan(approval.at - MINUTE)
      expect(score).toBeLessThanOrEqual(approval.at)
    }
  }

  /** A day later, nothing waits, and nothing else counts as used. */
  async ended(): Promise<void> {
    const { status, approval, due_at } = await this.#read()
    const { collected_at, token_expires_at = collected_at } = approval ?? {}
    const isOver = status === 'rejected' || (token_expires_at ?? Infinity) <= this.#world.clock.now
    expect([isOver, due_at]).toEqual([true, undefined])
    const isUsed =
      approval?.redeemed_at !== undefined || (collected_at !== undefined && !approval?.token_hash)
    expect(isUsed, 'what was used says so').toBe(this.used)
    const charged = await this.#world.app.deps.store.charged('acme', this.#limit, WEEK)
    expect(charged).toBe(this.used ? AMOUNT : 0)
  }

  async #read(): Promise<Thread> {
    const found = await read(this.#world.app.deps.store, 'acme', 'thread', this.#thread)
    return found?.value as Thread
  }
}

interface Setup {
  readonly policies: readonly Policy[]
  readonly people: Readonly<Record<Person, Caller>>
  readonly bot: Caller
  readonly unsigned: Caller
}

async function setUp(world: World): Promise<Setup> {
  const { deps } = world.app
  const agent = async (id: string): Promise<Caller> => identify(deps, 'agent', (await world.agent(id)).key)
  const people = PEOPLE.map(async (id) => [
    id,
    await identify(deps, 'reviewer', (await world.reviewer(id)).key),
  ])
  return {
    policies: await policies(),
    people: Object.fromEntries((await Promise.all(people)) as [Person, Caller][]) as Setup['people'],
    bot: await agent('bot'),
    unsigned: await agent('unsigned'),
  }
}

describe('an approval, in random histories', () => {
  it.each(Array.from({ length: Math.ceil(HISTORIES / PER_WORLD) }, (_, i) => 1 + i * PER_WORLD))(
    'runs only while people and policy support it, from seed %i',
    async (first) => {
      const world = await openWorld({ files: FILES })
      const setup = await setUp(world)
      const all = Math.min(PER_WORLD, HISTORIES)
      let used = 0
      for (let begun = 0; begun < all; begun += TOGETHER) {
        const seeds = Array.from({ length: Math.min(TOGETHER, all - begun) }, (_, i) => first + begun + i)
        const histories = seeds.map((seed) => new History(world, seed, setup))
        for (const history of histories) await history.named(() => history.play())
        world.clock.advance(24 * HOUR)
        await world.due()
        for (const history of histories) await history.named(() => history.ended())
        used += histories.filter((history) => history.used).length
      }
      // a law about uses needs uses
      expect(used).toBeGreaterThan(all / 20)
      await world.close()
    },
  )
})
