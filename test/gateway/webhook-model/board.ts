import { expect } from 'vitest'
import type { DeliveryList, DeliveryView, WebhookList, WebhookView } from '../../../src/contract/webhook.ts'
import { read } from '../../../src/gateway/core/records.ts'
import { INDEX } from '../../../src/gateway/core/indexes.ts'
import { type EvidenceLine, type World } from '../../gateway-fixture.ts'
import { until } from '../../until.ts'
import { type Dice, diceOf } from '../../random.ts'
import type { Receiver } from '../../webhooks/receiver.ts'
import type { Proposed } from './events.ts'
import { type Fleet, type Instance, LEASE_MS } from './fleet.ts'
import { type Destination, type Hit, WebhookModel } from './model.ts'
import { Ear } from './receivers.ts'

export const TENANTS = ['acme', 'globex'] as const

interface Shown {
  readonly view: WebhookView
  readonly views: readonly DeliveryView[]
}

/**
 * The board of the game: gateways on one store, receivers, and the model. The game runs in rounds.
 * In a round, anything happens at once.
 * At its end, when nothing is under way any more, the board compares everything.
 */
export class Board {
  readonly fleet: Fleet
  readonly dice: Dice
  readonly model: WebhookModel
  readonly seen: Set<string>
  readonly proposed = new Map<string, Proposed>()
  readonly seed: number
  /** By destination. */
  readonly ears = new Map<string, Ear>()
  readonly #receivers: readonly Receiver[]
  /** Tries that receivers heard in this round. */
  #hits: (Omit<Hit, 'destination'> & { readonly destination: () => string })[] = []
  #read: Record<string, number> = {}
  /** Tries that may still be on their way when their destination is deleted. */
  readonly #late = new Set<string>()
  readonly #deletedBefore = new Set<string>()
  #sweptAt = 0

  constructor(fleet: Fleet, receivers: readonly Receiver[], options: { seed: number; seen: Set<string> }) {
    this.fleet = fleet
    this.#receivers = receivers
    this.seed = options.seed
    this.dice = diceOf(options.seed)
    this.seen = options.seen
    this.model = new WebhookModel(() => fleet.now, this.proposed, options.seen)
  }

  pick<T>(list: readonly T[]): T {
    return this.dice.one(list) as T
  }

  instance(): Instance {
    return this.pick(this.fleet.instances)
  }

  world(): World {
    return this.instance().world
  }

  destinations(): Destination[] {
    return [...this.model.destinations.values()]
  }

  /** The receiver for the next destination; undefined when all are in use. */
  get freeReceiver(): Receiver | undefined {
    return this.#receivers[this.ears.size]
  }

  /** The receiver may hear a delivery before the game knows the id of its destination. */
  listens(receiver: Receiver): (id: string) => void {
    let destination = ''
    const heard = (hit: Pick<Hit, 'got' | 'reply'>): void => {
      const at = this.fleet.now
      this.#hits.push({ ...hit, at, destination: () => destination })
    }
    const ear = new Ear(receiver, this.dice, heard)
    return (id) => {
      destination = id
      this.ears.set(id, ear)
    }
  }

  async round(act: () => Promise<unknown>): Promise<void> {
    this.model.begin()
    await act()
    this.fleet.heal()
    await this.settle()
  }

  /** Lets time pass, and runs the work that falls due. */
  async pass(ms: number): Promise<void> {
    await this.round(async () => {
      this.fleet.advance(ms)
      await this.world().due()
      this.#sweptAt = this.fleet.now
    })
  }

  /** Waits until no delivery is under way, and until the gateways have repeated abandoned tries. */
  async settle(): Promise<void> {
    for (;;) {
      await this.#quiet()
      await this.#compare()
      const left = await this.#leased()
      if (left.length === 0) return
      this.seen.add('made again after its lease')
      this.model.begin()
      this.fleet.advance(LEASE_MS)
    }
  }

  /** Waits until no instance has work, and until each has read the list of destinations again. */
  async #quiet(): Promise<void> {
    do {
      await until(() => this.#isQuiet()).catch(async (error: unknown) => {
        const held = this.fleet.instances.map(({ leases }) => [...leases.held])
        const leased = await this.#leased()
        throw new Error(`still under way: ${JSON.stringify({ leased, held })}`, { cause: error })
      })
      const looks = this.fleet.instances.map(({ leases }) => leases.looks + 2)
      await until(() => this.fleet.instances.every(({ leases }, i) => leases.looks >= (looks[i] ?? 0)))
    } while (!(await this.#isQuiet()))
  }

  async #isQuiet(): Promise<boolean> {
    const leased = await this.#leased()
    const isHeld = (delivery: string): boolean =>
      this.fleet.instances.some(({ leases }) => leases.held.has(delivery))
    return leased.every(({ delivery, isDue }) => !isDue && !isHeld(delivery))
  }

  /** Returns deliveries that are due now, and deliveries under a lease. */
  async #leased(): Promise<{ readonly delivery: string; readonly isDue: boolean }[]> {
    const { store, now } = this.fleet
    const leased = []
    for (const tenant of TENANTS) {
      const list = await read(store, tenant, 'destinations', 'all')
      for (const { id, paused } of list?.value.destinations ?? []) {
        const entries = await store.range(tenant, INDEX.outbox(id), { limit: 10_000 })
        for (const { score, member } of entries) {
          if (score <= now && paused !== undefined) continue
          const delivery = await read(store, tenant, 'delivery', member)
          const isDue = score <= now
          if (isDue || delivery?.value.next_at !== score) leased.push({ delivery: member, isDue })
        }
      }
    }
    return leased
  }

  async #list(tenant: string): Promise<WebhookList> {
    return (await this.fleet.first.admin<WebhookList>('GET', `webhooks?tenant=${tenant}`)).body
  }

  // the comparison with the model

  async #compare(): Promise<void> {
    for (const tenant of TENANTS) for (const line of await this.#news(tenant)) this.model.learn(line)
    const shown = await this.#shown()
    expect([...shown.keys()].toSorted()).toEqual([...this.model.destinations.keys()].toSorted())
    for (const [id, { views }] of shown) this.model.link(this.#destination(id), views)
    this.#hear(shown)
    this.model.compareEnds()
    for (const [id, { view, views }] of shown)
      this.model.compare(this.#destination(id), view, views, this.#sweptAt)
  }

  #destination(id: string): Destination {
    return this.model.destinations.get(id) ?? expect.fail(id)
  }

  async #news(tenant: string): Promise<EvidenceLine[]> {
    const lines = await this.world().evidence(tenant, this.#read[tenant] ?? 0)
    this.#read[tenant] = lines.at(-1)?.number ?? this.#read[tenant] ?? 0
    return lines
  }

  async #shown(): Promise<Map<string, Shown>> {
    const shown = new Map<string, Shown>()
    for (const tenant of TENANTS)
      for (const view of (await this.#list(tenant)).webhooks)
        shown.set(view.id, { view, views: await this.#deliveries(view.id) })
    return shown
  }

  /** Returns all deliveries of a destination, page by page, and compares a list by state. */
  async #deliveries(id: string): Promise<DeliveryView[]> {
    const world = this.world()
    const known = this.model.destinations.get(id)?.deliveries.length ?? 0
    // rarely more than a few pages
    const limit = this.dice.once(5) ? Math.max(1 + this.dice.below(100), Math.min(100, known >> 2)) : 100
    const pages = async (query: string): Promise<DeliveryView[]> => {
      const all: DeliveryView[] = []
      for (let cursor: string | undefined = ''; cursor !== undefined;) {
        const path: string = `webhooks/${id}/deliveries?limit=${limit}${query}${cursor}`
        const { body } = await world.admin<DeliveryList>('GET', path)
        all.push(...body.deliveries)
        cursor = body.next_cursor === undefined ? undefined : `&cursor=${body.next_cursor}`
      }
      return all
    }
    const all = await pages('')
    const times = all.map(({ created_at }) => created_at)
    expect(times, 'newest first').toEqual(times.toSorted().toReversed())
    const state = this.pick(['waiting', 'delivered', 'dead', undefined, undefined])
    if (state !== undefined)
      expect(await pages(`&state=${state}`)).toEqual(all.filter((one) => one.state === state))
    return all
  }

  /**
   * Reads every try in its order.
   * The gateway may have noted an abandoned try or not, and a try that was cut off may arrive twice.
   */
  #hear(shown: ReadonlyMap<string, Shown>): void {
    const hits = this.#hits.map((hit): Hit => ({ ...hit, destination: hit.destination() }))
    this.#hits = []
    const noted = new Map<string, number>()
    for (const { destination, got } of hits) {
      if (this.model.deleted.has(destination)) continue
      const id = got.body.id
      const before = this.#destination(destination).deliveries.find((one) => one.id === id)?.attempts ?? 0
      const after = shown.get(destination)?.views.find((one) => one.id === id)?.attempts ?? 0
      noted.set(id, after - before)
    }
    for (const id of noted.keys())
      this.#explain(
        id,
        noted.get(id) ?? 0,
        hits.filter(({ got }) => got.body.id === id),
      )
    for (const hit of hits) {
      const { id } = hit.got.body
      if (this.model.deleted.has(hit.destination)) this.#wasUnderWay(hit)
      else {
        const left = noted.get(id) ?? 0
        noted.set(id, left - 1)
        this.model.hit(hit, left > 0)
      }
    }
    for (const { leases } of this.fleet.instances) for (const id of leases.held) this.#late.add(id)
    for (const id of this.model.deleted) this.#deletedBefore.add(id)
  }

  #explain(id: string, noted: number, hits: readonly Hit[]): void {
    const more = hits.length - noted
    expect(more, `${id} was noted more often than it was tried`).toBeGreaterThanOrEqual(0)
    const twice = hits.filter(({ reply }) => reply.status === undefined).length
    if (more > twice)
      expect(
        this.fleet.abandoned.explains(id, more - twice),
        `${id} was tried too often: ${hits.length} times, of which ${noted} are noted; ${told(hits)}`,
      ).toBe(true)
  }

  /** A deleted destination receives only tries that were already under way. */
  #wasUnderWay({ destination, got }: Hit): void {
    if (this.#deletedBefore.has(destination))
      expect(this.#late.has(got.body.id), `${destination} was deleted`).toBe(true)
  }
}

const told = (hits: readonly Hit[]): string => JSON.stringify(hits.map(({ reply, at }) => ({ ...reply, at })))
