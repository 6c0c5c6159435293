export interface CheckpointerOptions {
  /** Signs the tenant's new evidence. `more` is true when one checkpoint could not cover all new evidence. */
  readonly make: (tenant: string) => Promise<{ readonly more: boolean }>
  /** All tenants that may have evidence. */
  readonly tenants: () => Promise<readonly string[]>
  readonly now: () => number
  readonly everyMs: number
  readonly onError: (error: unknown) => void
}

const AT_ONCE_RECORDS = 1_000
/** The number of rounds between two checks of all tenants. */
const LOOK_AT_ALL_EVERY = 60

interface Unsigned {
  readonly since: number
  readonly records: number
}

/**
 * Signs new evidence (docs/evidence.md) every second while records arrive, and immediately after a thousand records.
 * Also checks all tenants at intervals, for records that another instance wrote before it crashed.
 */
export type Checkpointer = ReturnType<typeof createCheckpointer>

export function createCheckpointer(options: CheckpointerOptions) {
  const unsigned = createUnsigned(options.now)
  let rounds = 0
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  /**
   * Signs a tenant's evidence. Records that arrive during the call wait for the next call. Returns true when one
   * checkpoint could not cover all records.
   */
  async function sign(tenant: string): Promise<boolean> {
    const taken = unsigned.take(tenant)
    try {
      const { more } = await options.make(tenant)
      if (more) unsigned.giveBack(tenant, { since: taken?.since ?? options.now(), records: 0 })
      return more
    } catch (error) {
      // records of another instance or an earlier run may also be unsigned; only a checkpoint excludes this
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

  /** Runs one round at a time, with a pause between two rounds. */
  function run(): void {
    clearTimeout(timer)
    running = running.then(round).then(() => {
      clearTimeout(timer)
      if (!closed) timer = setTimeout(run, options.everyMs)
    })
  }
  run()

  return {
    /** Called when a record of the tenant has become durable. */
    noted(tenant: string): void {
      if (unsigned.add(tenant) === AT_ONCE_RECORDS && !closed) run()
    },
    /** Age of the oldest record without a checkpoint, ms; 0 without such records. */
    lagMs: () => unsigned.lagMs(),
    /** Signs the remaining records, and stops. */
    async close(): Promise<void> {
      closed = true
      clearTimeout(timer)
      await running
      let left = unsigned.tenants()
      while (left.length > 0) left = await inTurn(left, sign)
    },
  }
}

/** The unsigned records of each tenant, and the age of the oldest. */
function createUnsigned(now: () => number) {
  const known = new Map<string, Unsigned>()
  const giveBack = (tenant: string, { since, records }: Unsigned): void => {
    known.set(tenant, { since, records: records + (known.get(tenant)?.records ?? 0) })
  }
  return {
    giveBack,
    /** Returns the number of unsigned records. */
    add(tenant: string): number {
      giveBack(tenant, { since: known.get(tenant)?.since ?? now(), records: 1 })
      return known.get(tenant)?.records ?? 1
    },
    take(tenant: string): Unsigned | undefined {
      const taken = known.get(tenant)
      known.delete(tenant)
      return taken
    },
    /** Uses a separate list, because failed tenants are added again. */
    tenants: (): string[] => Array.from(known.keys()),
    lagMs(): number {
      const oldest = Math.min(...[...known.values()].map(({ since }) => since))
      return known.size === 0 ? 0 : Math.max(0, now() - oldest)
    },
  }
}

/** Returns the tenants with more evidence than one checkpoint covers. */
async function inTurn(
  tenants: readonly string[],
  sign: (tenant: string) => Promise<boolean>,
): Promise<string[]> {
  const unfinished: string[] = []
  for (const tenant of tenants) if (await sign(tenant)) unfinished.push(tenant)
  return unfinished
}
