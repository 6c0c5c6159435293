/** The end of a commit. */
export interface Ended {
  readonly tenant: string
  readonly commitId: string
  readonly result?: { readonly ok: true; readonly numbers: readonly number[] } | { readonly ok: false }
  readonly error?: unknown
}

/** The last record of a tenant. A new one replaces it, because the watch compares one while others are written. */
interface Written {
  readonly number: number
  readonly commitId: string
}

/** The records of a tenant without a checkpoint, and the age of the oldest. */
interface Unsigned {
  readonly since: number
  records: number
}

/** Records without a checkpoint from which the signer does not wait for its next round. */
const MANY = 1_000

/**
 * The records that the store has confirmed to this gateway. This is the only listener of commits. The watch for losses,
 * the probe of writes and the signer of checkpoints read it in their own rounds. It calls them in three rare cases.
 */
export class Confirmed {
  readonly written = new Map<string, Written>()
  /** When the store last confirmed a record, by `performance.now()`. */
  at = performance.now()
  /** Called when a commit failed. */
  onFailed: (error: unknown) => void = () => undefined
  /** Called when a number of a tenant was not above all earlier ones. */
  onTwice: (tenant: string) => void = () => undefined
  /** Called when many records have no checkpoint. */
  onMany: () => void = () => undefined
  readonly #unsigned = new Map<string, Unsigned>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  readonly noted = ({ tenant, commitId, result, error }: Ended): void => {
    if (result === undefined) return this.onFailed(error)
    const number = result.ok ? result.numbers.at(-1) : undefined
    if (number === undefined || !result.ok) return
    this.at = performance.now()
    if (number > (this.written.get(tenant)?.number ?? 0)) this.written.set(tenant, { number, commitId })
    else this.onTwice(tenant)
    this.#add(tenant, result.numbers.length)
  }

  #add(tenant: string, records: number): void {
    const unsigned = this.#unsigned.get(tenant)
    const before = unsigned?.records ?? 0
    if (unsigned === undefined) this.#unsigned.set(tenant, { since: this.#now(), records })
    else unsigned.records += records
    if (before < MANY && before + records >= MANY) this.onMany()
  }

  /** Takes the records of a tenant before they are signed. Records that arrive later are counted anew. */
  take(tenant: string): Unsigned | undefined {
    const taken = this.#unsigned.get(tenant)
    this.#unsigned.delete(tenant)
    return taken
  }

  giveBack(tenant: string, { since, records }: Unsigned): void {
    this.#unsigned.set(tenant, { since, records: records + (this.#unsigned.get(tenant)?.records ?? 0) })
  }

  /** The tenants with records without a checkpoint, in a separate list, because failed tenants are added again. */
  unsigned(): string[] {
    return Array.from(this.#unsigned.keys())
  }

  /** Age of the oldest record without a checkpoint, ms; 0 without such records. */
  lagMs(): number {
    const oldest = Math.min(...[...this.#unsigned.values()].map(({ since }) => since))
    return this.#unsigned.size === 0 ? 0 : Math.max(0, this.#now() - oldest)
  }
}
