/**
 * Signs what evidence has grown to (docs/evidence.md): every second while something is written, at once after a thousand records, and a look at
 * all tenants now and then, for what another instance wrote before it died.
 */
export interface Checkpointer {
  /** A record of the tenant has become durable. */
  noted(tenant: string): void
  /** Since when a record waits for its checkpoint, ms: 0 when none does. */
  lagMs(): number
  /** Signs what is still to be signed, and ends. */
  close(): Promise<void>
}

export interface CheckpointerOptions {
  /** Signs what the tenant's evidence has grown to, or a good part of it: then there is `more`. */
  readonly make: (tenant: string) => Promise<{ readonly more: boolean }>
  /** Everybody who may have evidence. */
  readonly tenants: () => Promise<readonly string[]>
  readonly now: () => number
  readonly everyMs: number
  readonly onError: (error: unknown) => void
}

const AT_ONCE_RECORDS = 1_000
/** In rounds. */
const LOOK_AT_ALL_EVERY = 60

interface Unsigned {
  readonly since: number
  readonly records: number
}

export function createCheckpointer(options: CheckpointerOptions): Checkpointer {
  const unsigned = new UnsignedRecords(options.now)
  let rounds = 0
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  /** What is noted while it is signed waits for the next time. True when there is more than one checkpoint takes. */
  async function sign(tenant: string): Promise<boolean> {
    const taken = unsigned.take(tenant)
    try {
      const { more } = await options.make(tenant)
      if (more) unsigned.giveBack(tenant, { since: taken?.since ?? options.now(), records: 0 })
      return more
    } catch (error) {
      // what another instance or an earlier life of this one wrote may wait, too: until it was signed nobody can say that it does not
      unsigned.giveBack(tenant, taken ?? { since: options.now(), records: 0 })
      options.onError(error)
      return false
    }
  }

  async function round(): Promise<void> {
    const all = rounds++ % LOOK_AT_ALL_EVERY === 0
    try {
      if (all) for (const tenant of await options.tenants()) await sign(tenant)
    } catch (error) {
      options.onError(error)
    }
    let left = unsigned.tenants()
    while (left.length > 0 && !closed) left = await inTurn(left, sign)
  }

  /** One round at a time, and the next one a while after it. */
  function run(): void {
    clearTimeout(timer)
    running = running.then(round).then(() => {
      clearTimeout(timer)
      if (!closed) timer = setTimeout(run, options.everyMs)
    })
  }
  run()

  return {
    noted(tenant) {
      if (unsigned.add(tenant) === AT_ONCE_RECORDS && !closed) run()
    },
    lagMs: () => unsigned.lagMs(),
    async close() {
      closed = true
      clearTimeout(timer)
      await running
      let left = unsigned.tenants()
      while (left.length > 0) left = await inTurn(left, sign)
    },
  }
}

/** How much of each tenant waits for its checkpoint, and since when. */
class UnsignedRecords {
  readonly #now: () => number
  readonly #of = new Map<string, Unsigned>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** Answers how many wait now. */
  add(tenant: string): number {
    const { since, records } = this.#of.get(tenant) ?? { since: this.#now(), records: 0 }
    this.#of.set(tenant, { since, records: records + 1 })
    return records + 1
  }

  take(tenant: string): Unsigned | undefined {
    const taken = this.#of.get(tenant)
    this.#of.delete(tenant)
    return taken
  }

  giveBack(tenant: string, { since, records }: Unsigned): void {
    this.#of.set(tenant, { since, records: records + (this.#of.get(tenant)?.records ?? 0) })
  }

  /** A list of its own: what fails is given back. */
  tenants(): string[] {
    return Array.from(this.#of.keys())
  }

  lagMs(): number {
    const oldest = Math.min(...[...this.#of.values()].map(({ since }) => since))
    return this.#of.size === 0 ? 0 : Math.max(0, this.#now() - oldest)
  }
}

/** Answers whose evidence is more than one checkpoint takes. */
async function inTurn(
  tenants: readonly string[],
  sign: (tenant: string) => Promise<boolean>,
): Promise<string[]> {
  const unfinished: string[] = []
  for (const tenant of tenants) if (await sign(tenant)) unfinished.push(tenant)
  return unfinished
}
