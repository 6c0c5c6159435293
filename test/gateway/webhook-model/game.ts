import { expect } from 'vitest'
import type { DeliveryView, Redelivered, WebhookSecret } from '../../../src/contract/webhook.ts'
import { type Answer, HOUR, MINUTE } from '../../gateway-fixture.ts'
import type { Board } from './board.ts'
import type { Delivery, Destination } from './model.ts'
import { MOODS } from './receivers.ts'
import { PAUSES, PEOPLE, Work } from './work.ts'

export const EVENTS = [
  'decision.allowed',
  'decision.rejected',
  'review.pending',
  'review.changes_requested',
  'review.approved',
  'review.rejected',
  'review.expired',
  'review.withdrawn',
  'review.reminded',
  'review.escalated',
  'token.redeemed',
]
const MOST_DESTINATIONS = 5
const WEEK = 7 * 24 * HOUR
const FAULTS = ['refused', 'unheard', 'lost lease'] as const

type Act = () => Promise<unknown>

/** Random acts of agents, people and administrators, of receivers and of time. */
export class Game {
  readonly #board: Board
  readonly #work: Work

  constructor(board: Board) {
    this.#board = board
    this.#work = new Work(board)
  }

  async begin(agents: Parameters<Board['fleet']['begin']>[0]): Promise<void> {
    await this.#board.fleet.begin(agents, PEOPLE)
    await this.#board.round(() => this.#create('acme', {}))
    await this.#board.round(() => this.#create('acme', { payload: 'full' }))
    await this.#board.round(() => this.#create('globex', {}))
  }

  async step(): Promise<void> {
    const { dice } = this.#board
    const acts: readonly (readonly [number, Act])[] = [
      [10, () => this.#board.round(() => this.#something())],
      [2, () => this.#board.round(() => this.#work.burst())],
      [3, () => this.#board.pass(this.#board.pick(PAUSES))],
      [5, () => this.#untilNextTry()],
      [4, () => this.#moods()],
      [1, () => this.#wearOut()],
      [1, () => this.#board.round(() => this.#create())],
      [1, () => this.#delete()],
      [3, () => this.#pauseOrResume()],
      [1, () => this.#rotate()],
      [2, () => this.#redeliver()],
      [2, () => this.#redeliverRange()],
      [2, () => this.#stop()],
      [4, () => this.#fault()],
      [4, () => this.#together()],
    ]
    let left = dice.below(acts.reduce((sum, [weight]) => sum + weight, 0))
    const [, act] = acts.find(([weight]) => (left -= weight) < 0) ?? expect.fail()
    await act()
  }

  async #something(): Promise<void> {
    const work = this.#work
    if (this.#board.dice.once(2)) return work.life()
    const acts = [
      () => work.submit(),
      () => work.vote(),
      () => work.poll(),
      () => work.redeem(),
      () => work.revise(),
      () => work.freeze(),
      () => work.withdraw(),
    ]
    for (let i = this.#board.dice.below(4); i >= 0; i--) await this.#board.pick(acts)()
  }

  #destination(): Destination {
    return this.#board.pick(this.#board.destinations())
  }

  #act<T>(method: string, { id }: Pick<Destination, 'id'>, what = '', body?: object): Promise<Answer<T>> {
    return this.#board.world().admin<T>(method, `webhooks/${id}${what}`, body === undefined ? {} : { body })
  }

  async #create(tenant = this.#board.pick(['acme', 'acme', 'globex']), other?: object): Promise<void> {
    const { dice } = this.#board
    const receiver = this.#board.freeReceiver
    if (receiver === undefined || this.#board.destinations().length >= MOST_DESTINATIONS) return
    const events = EVENTS.filter(() => dice.once(2))
    const drawn = {
      ...(dice.once(2) && events.length > 0 && { events }),
      ...(dice.once(2) && { payload: 'full' }),
    }
    const asked: { events?: string[]; payload?: string } = other ?? drawn
    const body = { tenant, url: receiver.url, ...asked }
    // it may receive a delivery before the administrator has the answer
    const listens = this.#board.listens(receiver)
    const answer = await this.#board.world().admin<WebhookSecret>('POST', 'webhooks', { body })
    expect(answer.status).toBe(201)
    const { id, secret } = answer.body
    const full = asked.payload === 'full'
    this.#board.model.created.set(id, {
      id,
      tenant,
      full,
      secret,
      ...(asked.events && { events: asked.events }),
    })
    listens(id)
  }

  async #delete(): Promise<void> {
    if (this.#board.destinations().length < 3) return
    const one = this.#destination()
    if (one.deliveries.some(({ state }) => state === 'waiting'))
      this.#board.seen.add('deleted with what waits')
    await this.#board.round(async () => {
      await this.#meanwhile(async () => expect((await this.#act('DELETE', one)).status).toBe(204))
    })
  }

  /** Acts while agents make calls. */
  async #meanwhile(act: Act): Promise<void> {
    const calls = this.#board.dice.once(2) ? this.#board.dice.below(8) : 0
    await Promise.all([act(), ...Array.from({ length: calls }, () => this.#work.submit('t'))])
  }

  async #pauseOrResume(): Promise<void> {
    const stopped = this.#board.destinations().filter(({ state }) => state !== 'active')
    const one = this.#board.dice.once(3) ? undefined : this.#board.dice.one(stopped)
    if (one !== undefined) return this.#resume(one)
    const other = this.#destination()
    const isGone = other.state === 'gone'
    await this.#board.round(() =>
      this.#meanwhile(async () => {
        const { status, body } = await this.#act<{ state: string }>('POST', other, '/pause')
        expect([status, body.state]).toEqual([200, isGone ? 'gone' : expect.stringMatching(/paused|gone/)])
      }),
    )
    if (isGone) await this.#board.round(() => this.#work.submit('t'))
  }

  async #resume(one: Destination): Promise<void> {
    await this.#board.round(() =>
      this.#meanwhile(async () => expect((await this.#act('POST', one, '/resume')).status).toBe(200)),
    )
  }

  /** Gives each receiver a mood of its own. */
  async #moods(): Promise<void> {
    const { dice, ears, seen } = this.#board
    for (const one of this.#board.destinations()) {
      const ear = ears.get(one.id) ?? expect.fail()
      ear.mood = dice.once(3) ? 'fine' : this.#board.pick(MOODS)
      seen.add(ear.mood)
    }
    await this.#board.round(() => this.#something())
    // these moods take long, or end the game
    for (const ear of ears.values())
      if (ear.mood === 'hangs' || ear.mood === 'is slow' || (ear.mood === 'is gone' && !dice.once(3)))
        ear.mood = 'fine'
  }

  async #rotate(): Promise<void> {
    const one = this.#destination()
    const overlap = this.#board.pick([undefined, 0, HOUR])
    await this.#board.round(async () => {
      const body = overlap === undefined ? {} : { overlap_ms: overlap }
      const answer = await this.#act<WebhookSecret>('POST', one, '/rotate-secret', body)
      expect(answer.status).toBe(200)
      this.#board.model.rotated(one.id, answer.body.secret, overlap ?? 24 * HOUR)
    })
    // at once, at the last moment of the overlap, and just after it
    const left = overlap === 0 || this.#board.dice.once(2) ? [] : [(overlap ?? 24 * HOUR) - 1, 1]
    for (const ms of [0, ...left]) {
      await this.#board.pass(ms)
      await this.#board.round(() => this.#ping(one))
    }
  }

  async #ping(one = this.#destination()): Promise<void> {
    const { status } = await this.#act('POST', one, '/ping')
    expect([200, 503]).toContain(status)
  }

  // tries again

  /** Advances to the next try, or to the last of all next tries. */
  async #untilNextTry(among = this.#board.destinations(), which = Math.min): Promise<void> {
    const due = among.flatMap(({ state, deliveries }) =>
      state === 'active' ? deliveries.filter((one) => one.state === 'waiting').map((one) => one.due[1]) : [],
    )
    if (due.length > 0) await this.#board.pass(Math.max(1, which(...due) - this.#board.fleet.now))
  }

  /** Makes one receiver fail for hours or days. */
  async #wearOut(tries = this.#board.pick([3, 6, 9]), one = this.#destination()): Promise<void> {
    const ear = this.#board.ears.get(one.id) ?? expect.fail()
    ear.mood = this.#board.pick(['breaks', 'redirects', 'cuts off'] as const)
    await this.#board.round(() => this.#ping(one))
    for (let i = tries; i > 0 && one.state === 'active'; i--) {
      await this.#untilNextTry([one], Math.max)
      if (this.#board.dice.once(4)) await this.#board.round(() => this.#work.submit('t'))
    }
  }

  /**
   * Causes events that chance rarely produces.
   * A destination fails for all tries of a delivery, then for five days, and then is gone.
   */
  async #extremes(): Promise<void> {
    const [one = expect.fail()] = this.#board.destinations()
    if (one.state !== 'active') await this.#resume(one)
    const ear = this.#board.ears.get(one.id) ?? expect.fail()
    ear.mood = 'fine'
    await this.#board.round(() => this.#work.submit('pay', 20_000))
    await this.#board.pass(31 * MINUTE)
    await this.#board.round(() => this.#work.burst())
    for (let i = 0; i < 4; i++) {
      for (const fault of FAULTS) await this.#fault(fault)
      await this.#redeliverRange(one, 'delivered')
    }
    await this.#wearOut(12, one)
    await this.#redeliverRange(one, 'dead')
    await this.#wearOut(9, one)
    if (one.state !== 'active') await this.#resume(one)
    ear.mood = 'is gone'
    await this.#board.round(() => this.#ping(one))
    await this.#board.round(() => this.#act('POST', one, '/pause'))
    await this.#board.round(() => this.#work.life())
    await this.#board.round(() => this.#ping(one))
  }

  async #redeliver(one = this.#destination()): Promise<void> {
    const state = this.#board.pick(['waiting', 'delivered', 'dead'])
    const delivery = this.#board.dice.one(one.deliveries.filter((each) => each.state === state))
    if (delivery === undefined) return
    const path = (id: string): string => `/deliveries/${id}/redeliver`
    await this.#board.round(async () => {
      const { status } = await this.#act('POST', one, path(delivery.id ?? ''))
      expect(status).toBe(204)
    })
    const other = this.#destination()
    if (other === one) return
    // the other destination does not have the delivery
    const { status } = await this.#act('POST', other, path(delivery.id ?? ''))
    expect(status).toBe(404)
  }

  async #redeliverRange(one = this.#destination(), which?: DeliveryView['state']): Promise<void> {
    const { dice, fleet } = this.#board
    const at = (): number => Date.parse(dice.one(one.deliveries)?.told.at ?? '') || fleet.now
    const since = which !== undefined || dice.once(2) ? fleet.now - 8 * 24 * HOUR : at()
    const until = which === undefined && dice.once(3) ? at() : undefined
    const drawn = dice.once(2) ? undefined : this.#board.pick(['waiting', 'delivered', 'dead'] as const)
    const state = which ?? drawn
    const wanted = one.deliveries.filter(({ told, state: its }) => {
      const enqueued = Date.parse(told.at)
      return its === (state ?? 'dead') && enqueued >= since && enqueued <= (until ?? Infinity)
    })
    const body = {
      since: new Date(since).toISOString(),
      ...(until !== undefined && { until: new Date(until).toISOString() }),
      ...(state !== undefined && { state }),
    }
    await this.#board.round(async () => {
      const answer = await this.#act<Redelivered>('POST', one, '/redeliver', body)
      expect([answer.status, answer.body.count]).toEqual([200, wanted.length])
    })
    if (wanted.length > 1) this.#board.seen.add('several again')
  }

  // faults

  /** Stops an instance in the middle of its tries. */
  async #stop(): Promise<void> {
    const { dice, fleet } = this.#board
    // a restarted instance handles due work before it knows any contract, and would hide whole payloads
    await this.#board.round(() => fleet.first.due())
    await this.#board.round(async () => {
      const [, ...others] = fleet.instances
      const instance = this.#board.pick(dice.once(3) ? others : fleet.instances)
      await Promise.all([this.#work.submit('t'), this.#work.submit('t'), this.#ping()])
      for (let turns = dice.below(4); turns > 0; turns--)
        await new Promise((resolve) => setImmediate(resolve))
      await fleet.restart(instance)
    })
  }

  async #fault(fault = this.#board.pick(FAULTS)): Promise<void> {
    const { dice, fleet } = this.#board
    await this.#board.round(async () => {
      const isOfOutcomes = dice.once(2)
      if (isOfOutcomes) await this.#work.submit('t')
      for (const { leases } of fleet.instances) leases.fault = fault
      if (isOfOutcomes) await this.#board.settle()
      else await this.#something()
      const isMet = fleet.instances.some(({ leases }) => leases.fault === undefined)
      if (isMet) this.#board.seen.add(fault)
    })
  }

  /** Acts of administrators, agents and people at the same time. */
  async #together(): Promise<void> {
    const one = this.#destination()
    await this.#board.round(async () => {
      const acts: readonly Act[] = [
        () => this.#create(),
        () => this.#ping(one),
        () => (one.state === 'active' ? this.#act('POST', one, '/pause') : this.#ping(one)),
        () => this.#work.burst(),
        () => this.#work.submit('pay'),
        () => this.#work.submit('bare'),
        () => this.#work.vote(),
        () => this.#work.revise(),
        () => this.#work.redeem(),
      ]
      const some = acts.filter(() => this.#board.dice.once(2))
      await Promise.all(some.map((act) => act()))
    })
  }

  /**
   * Everything works again. Waiting deliveries arrive, and dead deliveries are sent again, or not.
   * After their time the gateway deletes all of them.
   */
  async end(): Promise<void> {
    const board = this.#board
    await this.#extremes()
    for (const ear of board.ears.values()) ear.mood = 'fine'
    for (const one of board.destinations()) {
      await this.#resume(one)
      const since = new Date(0).toISOString()
      // in every other game all dead deliveries stay dead: the dice alone depend on timing
      const staysDead = board.seed % 2 === 1 || board.dice.once(2)
      const states = staysDead ? ['waiting'] : ['dead', 'waiting']
      for (const state of states)
        await board.round(() => this.#act('POST', one, '/redeliver', { since, state }))
    }
    const left = (): Delivery[] => board.destinations().flatMap(({ deliveries }) => deliveries)
    const undone = left().filter(({ state, isKnown }) => state === 'waiting' || isKnown !== true)
    expect(undone.map(({ id }) => id)).toEqual([])
    // the first week ends undecided threads, and the second deletes the deliveries about that
    await board.pass(WEEK)
    await board.pass(WEEK)
    expect(left().map(({ id }) => id)).toEqual([])
  }
}
