// @store each
import { describe, expect, it } from 'vitest'
import type { ThreadCounts, ThreadList, ThreadView } from '../../../src/contract/reviewer.ts'
import { type Answer, HOUR, MINUTE, openWorld, type World } from '../../gateway-fixture.ts'
import { until } from '../../until.ts'
import { type Dice, diceOf } from '../../random.ts'
import { IS_LONG } from '../../runs.ts'
import { PEOPLE } from '../contract-model/policy.ts'
import { type Ballot, type Bundle, BUNDLES, type Caller, ReviewModel, type Thread } from './model.ts'
import { Follower, startsAfresh } from './follower.ts'
import { Agents } from './agents.ts'
import { People } from './people.ts'
import { expectedOf, queryOf, saidOf, SEEN } from './shown.ts'

/**
 * Random acts of people, in random time.
 * The gateway answers each act as the model says, and its views predict what the gateway then does.
 */

const SEEDS = IS_LONG ? Array.from({ length: 40 }, (_, i) => i + 1) : [3, 7]
/** The number of steps under each directory. */
const STEPS = 60
const NO_THREAD = 'thr_00000000000000000000000000'
const VIAS = ['key', 'link'] as const

class Game {
  readonly seen: Set<string>
  readonly #world: World
  readonly #dice: Dice
  readonly #model: ReviewModel
  readonly #agents: Agents
  readonly #people: People
  readonly #tags = new Map<string, string>()
  #follower: Follower | undefined
  #reveals = 0
  #words = 0

  constructor(world: World, seed: number, seen: Set<string>) {
    this.#world = world
    this.#dice = diceOf(seed)
    this.#model = new ReviewModel(() => world.clock.now)
    this.#agents = new Agents(world, this.#model, this.#dice)
    this.#people = new People(world, this.#model, this.#dice, seen)
    this.seen = seen
  }

  async begin(): Promise<void> {
    await this.#agents.begin()
    await this.#people.begin()
    this.#follower = new Follower(this.#people.as({ who: 'olga', via: 'key' }))
    await this.#follower.open()
  }

  async step(): Promise<void> {
    const acts: (() => Promise<void>)[] = [
      ...Array<() => Promise<void>>(2).fill(async () => void (await this.#agents.propose())),
      ...Array<() => Promise<void>>(7).fill(() => this.#vote()),
      ...Array<() => Promise<void>>(5).fill(() => this.#claim()),
      () => this.#foretold(),
      ...Array<() => Promise<void>>(2).fill(() => this.#list()),
      () => this.#pass(),
      () => this.#poll(),
      ...Array<() => Promise<void>>(2).fill(() => this.#revise()),
      () => this.#withdraw(),
      () => this.#comment(),
      () => this.#grows(),
      () => this.#reveal(),
      () => this.#people.act(),
      () => this.#people.act(),
      () => this.#freeze(),
      () => this.#followed(),
    ]
    await this.#pick(acts)()
  }

  async change(bundle: Bundle): Promise<void> {
    await this.#world.changePolicies(BUNDLES[bundle])
    this.#model.change(bundle)
    // a load may read a half-written file and fail; the next load follows
    const known = (): boolean | undefined =>
      this.#world.app.deps.policies.current()?.directory.tenants.get('acme')?.reviewers.has('eve')
    await until(() => known() === (this.#model.groupsOf('eve') !== undefined))
  }

  async end(): Promise<void> {
    await this.#followed(true)
    this.#follower?.close()
    const about = (await this.#world.allEvidence()).filter(({ record }) => record.thread_id !== undefined)
    expect(this.#follower?.numbers).toEqual(about.map(({ number }) => number))
    const revealed = about.filter(({ record }) => record.type === 'payload.revealed')
    expect(revealed.length).toBe(this.#reveals)
  }

  #pick<T>(list: readonly T[]): T {
    return this.#dice.one(list) as T
  }

  /**
   * Any caller, or, as often, a caller without an obstacle.
   * Sometimes it uses a key instead, has voted already, or owns the agent.
   */
  #caller(thread?: Thread): Caller {
    const all = PEOPLE.flatMap((who) => VIAS.map((via) => ({ who, via })))
    const able = all.filter((one) => thread !== undefined && this.#model.obstacle(thread, one) === undefined)
    const voted = thread?.votes.at(-1)
    if (voted !== undefined && this.#dice.once(6)) return voted
    if (this.#dice.once(7)) return { who: 'olga', via: this.#pick(VIAS) }
    if (able.length === 0 || this.#dice.once(2)) return this.#pick(all)
    const one = this.#pick(able)
    return this.#dice.once(4) ? { who: one.who, via: 'key' } : one
  }

  /** An id of a thread: often a waiting thread, sometimes an old or a missing thread. */
  #thread(): [string, Thread | undefined] {
    const { threads } = this.#model
    const names = [...threads.keys()]
    const waiting = names.filter((id) => threads.get(id)?.status === 'pending_review').slice(-2)
    const id = this.#pick(this.#dice.once(3) ? names.slice(-12) : waiting) ?? NO_THREAD
    return [id, threads.get(id)]
  }

  async #poll(): Promise<void> {
    const [id, thread] = this.#thread()
    if (thread !== undefined) await this.#agents.poll(id, thread)
  }

  async #withdraw(): Promise<void> {
    const [id, thread] = this.#thread()
    if (thread !== undefined && this.#dice.once(5)) await this.#agents.withdraw(id, thread)
  }

  async #revise(): Promise<void> {
    const [id, thread] = this.#thread()
    if (thread !== undefined && thread.revision < 20) await this.#revision(id, thread)
  }

  async #revision(id: string, thread: Thread, amount?: number): Promise<void> {
    const before = thread.revision
    await this.#agents.revise(id, thread, amount)
    if (thread.revision === before) return
    this.#tags.set(`${id} earlier`, this.#tags.get(id) ?? '"none"')
    this.#tags.delete(id)
  }

  /** Chairs that others may take after a while; a revision starts that time anew. */
  async #grows(): Promise<void> {
    const id = await this.#agents.propose(20_000)
    const query = { status: 'pending_review', group: 'board' }
    for (const pause of [20, 11, 25]) {
      this.#world.clock.advance(pause * MINUTE)
      await this.#list(query)
      const thread = this.#model.threads.get(id)
      if (thread?.revision === 1) await this.#revision(id, thread, 20_000)
    }
  }

  // what people are shown

  /** Compares the view that the caller gets of the thread with the model. */
  #shown(caller: Caller, id: string, { status, headers, body }: Answer<ThreadView>): void {
    const thread = this.#model.threads.get(id) ?? expect.fail()
    this.#model.settle(thread)
    expect([200, 201]).toContain(status)
    expect(saidOf(body)).toEqual(expectedOf(this.#model, thread, caller))
    // every caller who gets the same values gets the same tag, and each revision has another tag
    const tag = headers.get('etag') ?? ''
    expect(tag).toBe(this.#tags.get(id) ?? tag)
    expect(tag).not.toBe(this.#tags.get(`${id} earlier`))
    this.#tags.set(id, tag)
  }

  /** Checks the answers to an ended credential and for a missing thread. True when there is more to compare. */
  #mayAsk(caller: Caller, thread: Thread | undefined, answer: Answer<unknown>): thread is Thread {
    if (!this.#people.isKnown(caller, answer)) return false
    if (thread !== undefined) return true
    expect([answer.status, answer.problem.code]).toEqual([404, 'not_found'])
    return false
  }

  /**
   * Every person looks, by key and by session.
   * The gateway refuses the votes of those whom its view refuses, for the same reason; one of the others may vote.
   */
  async #foretold(): Promise<void> {
    const [id, thread] = this.#thread()
    const may: Caller[] = []
    for (const who of PEOPLE)
      for (const via of VIAS) {
        const answer = await this.#people.as({ who, via }).show(id)
        if (!this.#mayAsk({ who, via }, thread, answer)) continue
        this.#shown({ who, via }, id, answer)
        const { allowed, code } = answer.body.can_vote
        if (allowed) may.push({ who, via })
        else {
          const refused = await this.#people.as({ who, via }).approve(id, thread.revision)
          expect([refused.status, refused.problem.code]).toEqual([code === 'not_pending' ? 409 : 403, code])
        }
      }
    const caller = this.#pick(may)
    if (caller === undefined || thread === undefined) return
    const counted = await this.#people.as(caller).approve(id, thread.revision)
    expect(counted.status).toBe(200)
    this.#model.vote(thread, caller, { decision: 'approve', revision: thread.revision })
    this.#shown(caller, id, counted)
  }

  // what people do

  async #vote(): Promise<void> {
    const [id, thread] = this.#thread()
    const caller = this.#caller(thread)
    await this.#cast(caller, [id, thread], this.#ballot(id, thread?.revision ?? 1))
    if (thread?.status !== 'approved' || !this.#dice.once(4)) return
    const another = this.#dice.once(2) ? caller : this.#caller(thread)
    await this.#cast(another, [id, thread], { decision: 'reject', revision: thread.revision })
  }

  async #cast(
    caller: Caller,
    [id, thread]: readonly [string, Thread | undefined],
    ballot: Ballot,
  ): Promise<void> {
    const before = thread?.status
    const { tag, ...vote } = ballot
    const current = this.#tags.get(id)
    const named = { current, earlier: this.#tags.get(`${id} earlier`), weak: `W/${current}`, '*': '*' }
    const headers: Record<string, string> = tag === undefined ? {} : { 'if-match': named[tag] ?? '' }
    const answer = await this.#people.as(caller).vote(id, { comment: 'said', ...vote }, headers)
    if (!this.#mayAsk(caller, thread, answer)) return void this.seen.add(`vote ${answer.problem.code}`)
    const refusal = this.#model.vote(thread, caller, ballot)
    expect(answer.status < 400 ? undefined : answer.problem.code).toBe(refusal)
    if (refusal === undefined) this.#shown(caller, id, answer)
    this.seen.add(`vote ${refusal ?? thread.status}`)
    if (refusal === undefined && before === 'approved') this.seen.add('approval taken back')
    if (refusal === undefined) this.seen.add(`vote by ${caller.via}`)
  }

  #ballot(id: string, current: number): Ballot {
    const dice = this.#dice
    const decision = dice.once(4) ? this.#pick(['reject', 'request_changes'] as const) : 'approve'
    const known = this.#tags.has(id) ? (['current', '*', 'weak'] as const) : (['*'] as const)
    const earlier = this.#tags.has(`${id} earlier`) ? (['earlier'] as const) : []
    const tag = dice.once(4) ? this.#pick([...known, ...earlier]) : undefined
    const revision = dice.once(6) ? this.#pick([undefined, current + 1, Math.max(1, current - 1)]) : current
    return { decision, ...(revision !== undefined && { revision }), ...(tag !== undefined && { tag }) }
  }

  async #claim(): Promise<void> {
    const [id, thread] = this.#thread()
    await this.#claimOf(id, thread)
    // perhaps another caller, who would like to look as well
    if (this.#dice.once(2)) await this.#claimOf(id, thread)
  }

  async #claimOf(id: string, thread: Thread | undefined): Promise<void> {
    const caller = this.#caller(thread)
    if (this.#dice.once(4)) {
      const answer = await this.#people.as(caller).call<ThreadView>('POST', `threads/${id}/release`)
      if (!this.#mayAsk(caller, thread, answer)) return
      this.#model.release(thread, caller.who)
      return this.#shown(caller, id, answer)
    }
    const takeOver = this.#dice.once(3)
    const body = takeOver ? { take_over: true } : {}
    const answer = await this.#people.as(caller).call<ThreadView>('POST', `threads/${id}/claim`, { body })
    if (!this.#mayAsk(caller, thread, answer)) return
    const holder = this.#model.claimant(thread)
    const refusal = this.#model.claim(thread, caller, takeOver)
    expect(answer.status < 400 ? undefined : answer.problem.code).toBe(refusal)
    if (refusal === undefined) this.#shown(caller, id, answer)
    this.seen.add(`claim ${refusal ?? 'ok'}`)
    if (refusal === undefined && holder !== undefined && holder !== caller.who)
      this.seen.add('claim taken over')
    if (thread.dead && thread.status === 'pending_review') this.seen.add('claim of what is dead')
  }

  async #comment(): Promise<void> {
    const [id, thread] = this.#thread()
    const caller = this.#caller()
    const last = thread?.comments.at(-1)
    const isRepeated = last?.who === caller.who && last.revision === thread?.revision && this.#dice.once(2)
    const body = { comment: isRepeated ? last.text : `word ${(this.#words += 1)}` }
    const answer = await this.#people.as(caller).call<ThreadView>('POST', `threads/${id}/comments`, { body })
    if (!this.#mayAsk(caller, thread, answer)) return
    const { who, via } = caller
    if (isRepeated) this.seen.add('comment that is sent again')
    else thread.comments.push({ who, via, text: body.comment, revision: thread.revision })
    this.#shown(caller, id, answer)
    this.seen.add(`comment by ${via}`)
  }

  async #reveal(): Promise<void> {
    const [id, thread] = this.#thread()
    const caller = this.#caller()
    const revision = this.#dice.once(3) ? 9 : (thread?.revision ?? 1)
    const answer = await this.#people.as(caller).call<{ payload: unknown }>('POST', `threads/${id}/reveal`, {
      body: { revision },
    })
    if (!this.#mayAsk(caller, thread, answer)) return
    const there = revision <= thread.revision
    expect(answer.status).toBe(there ? 200 : 404)
    if (revision === thread.revision) expect(answer.body.payload).toEqual(thread.payload)
    if (there) this.#reveals++
    this.seen.add(`reveal ${answer.status}`).add(`reveal by ${caller.via}`)
  }

  async #list(query = queryOf(this.#dice, this.#model)): Promise<void> {
    const caller = this.#caller()
    const limit = String(1 + this.#dice.below(7))
    const found: string[] = []
    for (let cursor: string | undefined = '', pages = 1; cursor !== undefined; pages++) {
      const page: Answer<ThreadList> = await this.#people.as(caller).list({
        ...query,
        limit,
        ...(cursor !== '' && { cursor }),
      } as Record<string, string>)
      if (!this.#people.isKnown(caller, page)) return
      for (const { thread_id, mine } of page.body.threads) {
        found.push(thread_id)
        const thread = this.#model.threads.get(thread_id) ?? expect.fail()
        expect(mine, thread_id).toBe(this.#model.obstacle(thread, caller) === undefined)
      }
      cursor = page.body.next_cursor
      if (pages > 1 && found.length > Number(limit)) this.seen.add('list of several pages')
    }
    expect(found, JSON.stringify(query)).toEqual(this.#model.list(caller, query))
    const { body } = await this.#people.as(caller).call<ThreadCounts>('GET', 'counts')
    expect({ ...body.pending, changes_requested: body.changes_requested }).toEqual(this.#model.counts())
  }

  // what happens around them

  async #freeze(): Promise<void> {
    const agent = this.#pick(this.#agents.names)
    const body = { tenant: 'acme', agent, reason: 'a test' }
    expect((await this.#world.admin('POST', 'freeze', { body })).status).toBe(200)
    this.#model.freeze(agent)
    const acts = [
      () => this.#vote(),
      () => this.#claim(),
      () => this.#claim(),
      () => this.#list(),
      () => this.#foretold(),
    ]
    for (let i = this.#dice.below(5); i > 0; i--) await this.#pick(acts)()
    expect((await this.#world.admin('POST', 'unfreeze', { body })).status).toBe(204)
  }

  async #pass(): Promise<void> {
    const short = [1, 30_000, MINUTE, 4 * MINUTE, 11 * MINUTE]
    const long = [16 * MINUTE, 31 * MINUTE, 3 * HOUR]
    this.#world.clock.advance(this.#pick(this.#dice.once(4) ? long : short))
    if (!this.#dice.once(3)) await this.#people.comeBack()
    if (this.#dice.once(3)) return
    await this.#world.due()
    this.#model.due()
  }

  /** Compares a follower of the stream with a fresh list. */
  async #followed(last = false): Promise<void> {
    const follower = this.#follower ?? expect.fail()
    const [id, thread] = [...this.#model.threads].at(-1) ?? []
    if (id === undefined || thread === undefined) return
    const olga = { who: 'olga', via: 'key' } as const
    const body = { comment: `here ${(this.#words += 1)}` }
    const said = await this.#people.as(olga).call<ThreadView>('POST', `threads/${id}/comments`, { body })
    thread.comments.push({ ...olga, text: body.comment, revision: thread.revision })
    this.#shown(olga, id, said)
    const number = said.body.evidence.at(-1)?.number ?? 0
    await follower.hear(number)
    await follower.compare(this.#world.clock.now)
    if (this.#dice.once(3)) {
      await startsAfresh(this.#people.as({ who: 'zoe', via: 'key' }), number)
      this.seen.add('stream reset')
    }
    if (last || this.#dice.once(2)) return
    follower.close()
    for (let i = this.#dice.below(7); i > 0; i--) await this.#comment()
    await follower.open()
    this.seen.add('stream resumed')
  }
}

describe('the review API and a model of it', () => {
  const seen = new Set<string>()

  it.each(SEEDS)(
    'the review API and a model of it give the same answers to every act of reviewers (seed %d)',
    { timeout: 120_000 },
    async (seed) => {
      const world = await openWorld({ files: BUNDLES.first })
      try {
        const game = new Game(world, seed, seen)
        await game.begin()
        for (const bundle of ['second', 'first', 'second'] as const) {
          for (let i = 0; i < STEPS; i++) await game.step()
          await game.change(bundle)
        }
        for (let i = 0; i < STEPS; i++) await game.step()
        await game.end()
      } finally {
        await world.close()
      }
    },
  )

  it('the review API and a model of it have met every possible event', () => {
    expect(SEEN.filter((one) => !seen.has(one))).toEqual([])
  })
})
