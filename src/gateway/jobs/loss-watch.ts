import { type Store, StoreUnavailable } from '../../store/store.ts'
import type { Confirmed } from '../../evidence/confirmed.ts'
import type { Deps } from '../core/deps.ts'
import { filesAfter } from '../core/record-files.ts'
import { read, SYSTEM } from '../core/records.ts'

/**
 * Notices that the store was emptied, or replaced by an older state, under this running gateway. The gateway would
 * otherwise sign a second history under the same name and key. It therefore remembers what the store has confirmed, and
 * compares from time to time and before each signature.
 *
 * A store of durability `async` may lose its last seconds, so only signed records count there.
 */
export interface LossWatch {
  /** Records a confirmed report of this instance. */
  reported(at: number): void
  /** Records a tree over evidence that was signed. */
  signed(tenant: string, size: number): void
  /** The numbers that a tenant's evidence must have reached. */
  least(tenant: string): Least
  /**
   * Requires a tree over evidence to have reached these numbers. `tree` are the records under the last signed
   * checkpoint, `records` all records in the store.
   *
   * @throws StoreUnavailable
   */
  requireReached(
    tenant: string,
    least: Least,
    found: { readonly tree: number; readonly records: number },
  ): void
  /** Requires the store that this gateway opened, by the name of its log. @throws StoreUnavailable */
  requireSameStore(): Promise<void>
  /** Compares the store with what this gateway remembers. @throws StoreUnavailable also when the store is away */
  check(): Promise<void>
  /** The reason, in one clause, since the loss was noticed. */
  lost(): string | undefined
}

export interface Least {
  /** Records under the last signed checkpoint. */
  readonly signed: number
  /** The last record that this gateway wrote. */
  readonly written: number
}

export interface LossOptions {
  /** The name of the log of evidence. */
  readonly log: string
  /** The id of this instance in its reports. */
  readonly instance: string
  /** The records that the store has confirmed. */
  readonly confirmed: Confirmed
  /** Called once. */
  readonly onLost: (reason: string) => void
}

/** Tenants that one check compares. Further tenants have their turn in the next checks. */
const TENANTS_AT_ONCE = 20
/** Age of the last report after which other instances may have removed it (instances.ts), ms. */
const REPORT_KEPT_MS = 1_800_000

/** @param deps with the store itself: records in tiles are not read */
export const createLossWatch = (deps: Pick<Deps, 'store'>, options: LossOptions): LossWatch =>
  new Watch(deps.store, options)

class Watch implements LossWatch {
  readonly #store: Store
  readonly #options: LossOptions
  readonly #isStrict: boolean
  readonly #signed = new Map<string, number>()
  #reportedAt: number | undefined
  #reason: string | undefined
  #turn = 0

  constructor(store: Store, options: LossOptions) {
    this.#store = store
    this.#options = options
    this.#isStrict = store.durability !== 'async'
    // answers may overtake one another, so only the store itself shows whether a number was given twice
    options.confirmed.onTwice = (tenant) => void this.#checkTenant(tenant).catch(() => undefined)
  }

  reported(at: number): void {
    this.#reportedAt = at
  }

  signed(tenant: string, size: number): void {
    this.#signed.set(tenant, Math.max(size, this.#signed.get(tenant) ?? 0))
  }

  least(tenant: string): Least {
    const written = this.#isStrict ? (this.#options.confirmed.written.get(tenant)?.number ?? 0) : 0
    return { signed: this.#signed.get(tenant) ?? 0, written }
  }

  requireReached(tenant: string, least: Least, { tree, records }: { tree: number; records: number }): void {
    if (tree < least.signed)
      this.#lose(`${least.signed} records of \`${tenant}\` were signed, and it knows ${tree}`)
    if (records < least.written) this.#lose(`record ${least.written} of \`${tenant}\` is gone`)
  }

  async requireSameStore(): Promise<void> {
    const found = await read(this.#store, SYSTEM, 'secret', 'log')
    if (found?.value.value !== this.#options.log)
      this.#lose(
        found === undefined ? 'it no longer knows the name of its log' : 'it has the log of another store',
      )
  }

  async check(): Promise<void> {
    await this.requireSameStore()
    await this.#checkReport()
    const tenants = [...this.#options.confirmed.written.keys()]
    const some = tenants.length <= TENANTS_AT_ONCE ? tenants : this.#nextOf(tenants)
    await Promise.all(some.map((tenant) => this.#checkTenant(tenant)))
  }

  lost(): string | undefined {
    return this.#reason
  }

  #nextOf(tenants: readonly string[]): string[] {
    return Array.from({ length: TENANTS_AT_ONCE }, () => tenants[this.#turn++ % tenants.length] as string)
  }

  async #checkReport(): Promise<void> {
    const last = this.#reportedAt
    if (!this.#isStrict || last === undefined || this.#store.now() - last > REPORT_KEPT_MS) return
    const report = await read(this.#store, SYSTEM, 'instance', this.#options.instance)
    if (!((report?.value.seen_at ?? 0) >= last)) this.#lose('it has lost the last report of this gateway')
  }

  async #checkTenant(tenant: string): Promise<void> {
    const last = this.#options.confirmed.written.get(tenant)
    if (!this.#isStrict || last === undefined) return
    const [event] = await this.#store.events(tenant, last.number - 1, 1)
    if (event?.number === last.number && event.commitId === last.commitId) return
    // the entry of its file says that it left the store
    if ((await filesAfter(this.#store, tenant, last.number - 1, 1)).length > 0) return
    this.#lose(`record ${last.number} of \`${tenant}\` is gone`)
  }

  #lose(what: string): never {
    if (this.#reason === undefined) {
      this.#reason = `the store was emptied or set back while this gateway used it: ${what}`
      this.#options.onLost(this.#reason)
    }
    throw new StoreUnavailable(this.#reason)
  }
}
