import { SYSTEM } from '../../../src/gateway/core/records.ts'
import { type Commit, type Store, StoreIndeterminate, StoreUnavailable } from '../../../src/store/store.ts'
import { overriding } from '../../gateway-fixture.ts'

/** Faults of the next commit or lease of an instance that concerns deliveries. */
export type Fault = 'refused' | 'unheard' | 'lost lease'

/** Tries that no instance will note, counted by delivery. Their lease has to end before the next try. */
export class Abandoned {
  readonly #tries = new Map<string, number>()

  add(delivery: string): void {
    this.#tries.set(delivery, (this.#tries.get(delivery) ?? 0) + 1)
  }

  /** True when so many tries of the delivery may have been lost; then it strikes them off. */
  explains(delivery: string, tries: number): boolean {
    const left = (this.#tries.get(delivery) ?? 0) - tries
    if (left >= 0) this.#tries.set(delivery, left)
    return left >= 0
  }
}

/** The leases of one instance, seen from its store, which also causes the faults. */
export class Leases {
  /**
   * Deliveries that the instance knows to have taken and has not noted.
   * A lease that no instance holds ends only when its time is up.
   */
  readonly held = new Set<string>()
  readonly #abandoned: Abandoned
  /** The number of looks at the outbox that have begun. */
  looks = 0
  fault: Fault | undefined

  constructor(abandoned: Abandoned) {
    this.#abandoned = abandoned
  }

  /** The instance has ended, and abandons its tries. */
  end(): void {
    for (const delivery of this.held) this.#abandoned.add(delivery)
    this.held.clear()
  }

  watching(store: Store): Store {
    return overriding(store, {
      range: (partition, index, bounds) => {
        if (partition === SYSTEM && index === 'webhooks') this.looks += 1
        return store.range(partition, index, bounds)
      },
      claimDue: async (partition, index, claim) => {
        const claimed = await store.claimDue(partition, index, claim)
        if (!index.startsWith('outbox/')) return claimed
        const isLost = claimed.length > 0 && this.#fails('lost lease')
        for (const { member } of claimed) this.#taken(member, isLost)
        if (isLost) throw new StoreUnavailable('nothing heard')
        return claimed
      },
      commit: (partition, commit) => this.#commit(store, partition, commit),
    })
  }

  #taken(delivery: string, isLost = false): void {
    if (isLost) this.#abandoned.add(delivery)
    else this.held.add(delivery)
  }

  #fails(fault: Fault): boolean {
    const fails = this.fault === fault
    if (fails) this.fault = undefined
    return fails
  }

  async #commit(store: Store, partition: string, commit: Commit): ReturnType<Store['commit']> {
    const all = commit.writes.filter(
      (write) => write.op === 'index' && write.index.startsWith('outbox/'),
    ) as { readonly member: string; readonly to?: number }[]
    if (all.length === 0) return store.commit(partition, commit)
    // A redelivery moves the entry to now, and is ignored here. The instance that makes the delivery continues. It may
    // take the delivery before the commit returns.
    const moves = all.filter(({ to = Infinity }) => to > store.now())
    const isNew = commit.writes.some((write) => write.op === 'index' && write.index.startsWith('deliveries/'))
    if (this.#fails('refused')) {
      if (!isNew) for (const { member } of moves) this.#dropped(member)
      throw new StoreUnavailable('not now')
    }
    const isUnheard = this.#fails('unheard')
    const result = await store.commit(partition, commit).catch((error: unknown) => {
      if (!isNew) for (const { member } of moves) this.#dropped(member)
      throw error
    })
    if (!result.ok && result.reason === 'late' && !isNew)
      for (const { member } of moves) this.#dropped(member)
    if (result.ok)
      for (const { member, to } of moves) {
        if (isNew && to !== undefined) this.#taken(member, isUnheard)
        else this.#noted(member)
      }
    if (isUnheard && result.ok) throw new StoreIndeterminate('nothing heard')
    return result
  }

  #dropped(delivery: string): void {
    if (this.held.delete(delivery)) this.#abandoned.add(delivery)
  }

  #noted(delivery: string): void {
    this.held.delete(delivery)
  }
}
