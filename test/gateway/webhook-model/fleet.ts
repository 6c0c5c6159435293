import { expect } from 'vitest'
import {
  type Agent,
  Agent as AgentOf,
  openWorld,
  overriding,
  Reviewer,
  type World,
} from '../../gateway-fixture.ts'
import type { Store } from '../../../src/store/store.ts'
import { openedElsewhere } from '../../test-store.ts'
import type { Place } from '../../store/places.ts'
import type { Receivers } from '../../webhooks/receiver.ts'
import { Abandoned, Leases } from './leases.ts'

const INSTANCES = 2
/**
 * Both deadlines are so long that a busy machine does not exceed them.
 * The game itself causes lost answers and unheard commits.
 */
const DEADLINE_MS = 5_000
const STORE_DEADLINE_MS = 30_000
/** The lease covers a try, its record and the commit. */
export const LEASE_MS = DEADLINE_MS + 5_000 + STORE_DEADLINE_MS

export interface Instance {
  readonly world: World
  readonly leases: Leases
}

export interface FleetOptions {
  readonly place: Place
  readonly receivers: Receivers
  /** The ports of the receivers of the game. */
  readonly ports: readonly number[]
}

/** Gateways on one store, which make deliveries together. */
export class Fleet {
  readonly abandoned = new Abandoned()
  readonly instances: readonly [Instance, ...Instance[]]
  readonly #close: () => Promise<void>
  readonly #agents = new Map<string, string>()
  readonly #people = new Map<string, string>()

  private constructor(
    instances: readonly [Instance, ...Instance[]],
    abandoned: Abandoned,
    close: () => Promise<void>,
  ) {
    this.instances = instances
    this.abandoned = abandoned
    this.#close = close
  }

  static async open({ place, receivers, ports }: FleetOptions): Promise<Fleet> {
    const abandoned = new Abandoned()
    let shared: Promise<Store> | undefined
    const open = async (): Promise<Instance> => {
      const leases = new Leases(abandoned)
      const world = await openWorld({
        config: {
          storeDeadline: STORE_DEADLINE_MS,
          webhooksAllow: ports.map((port) => `127.0.0.1/32:${port}`).join(','),
        },
        webhooks: { everyMs: 10, deadlineMs: DEADLINE_MS, ca: receivers.ca, wall: () => world.clock.wall() },
        // all instances share the embedded store, which outlives each of them
        openStore: async (clock) => {
          if (place.kind === 'redis') {
            openedElsewhere()
            return place.open(clock)
          }
          shared ??= place.open(clock)
          return overriding(await shared, { close: () => Promise.resolve() })
        },
        wrapStore: (store) => leases.watching(store),
      })
      return { world, leases }
    }
    const instances: [Instance, ...Instance[]] = [await open()]
    while (instances.length < INSTANCES) instances.push(await open())
    return new Fleet(instances, abandoned, async () => (await shared)?.close())
  }

  get first(): World {
    return this.instances[0].world
  }

  get now(): number {
    return this.first.clock.now
  }

  get store(): Store {
    return this.first.app.deps.store
  }

  advance(ms: number): void {
    for (const { world } of this.instances) world.clock.advance(ms)
  }

  async begin(
    agents: readonly (readonly [string, string])[],
    people: readonly (readonly [string, string])[],
  ) {
    for (const [id, tenant] of agents)
      this.#agents.set(`${tenant}/${id}`, (await this.first.agent(id, tenant)).key)
    for (const [id, tenant] of people)
      this.#people.set(`${tenant}/${id}`, (await this.first.reviewer(id, tenant)).key)
  }

  agent(world: World, name: string): Agent {
    return new AgentOf(world, this.#agents.get(name) ?? expect.fail(name))
  }

  person(world: World, name: string): Reviewer {
    return new Reviewer(world, this.#people.get(name) ?? expect.fail(name))
  }

  /** Stops an instance, which ends its tries, and starts it again. */
  async restart({ world, leases }: Instance): Promise<void> {
    await world.stop()
    leases.end()
    await world.start()
  }

  heal(): void {
    for (const { leases } of this.instances) leases.fault = undefined
  }

  async close(): Promise<void> {
    for (const { world } of this.instances) await world.close()
    await this.#close()
  }
}
