import type { Confirmed } from './confirmed.ts'

/**
 * Signs new evidence (docs/evidence.md) every second while records arrive, and immediately after a thousand records.
 * Also checks all tenants at intervals, for records that another instance wrote before it crashed.
 */
export interface Checkpointer {
  /** Signs the remaining records, and stops. */
  close(): Promise<void>
}

export interface CheckpointerOptions {
  readonly confirmed: Confirmed
  /** Signs the tenant's new evidence. `more` is true when one checkpoint could not cover all new evidence. */
  readonly make: (tenant: string) => Promise<{ readonly more: boolean }>
  /** All tenants that may have evidence. */
  readonly tenants: () => Promise<readonly string[]>
  readonly now: () => number
  readonly everyMs: number
  readonly onError: (error: unknown) => void
}

/** The number of rounds between two checks of all tenants. */
const LOOK_AT_ALL_EVERY = 60

export function createCheckpointer(options: CheckpointerOptions): Checkpointer {
  const { confirmed } = options
  let rounds = 0
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  /**
   * Signs a tenant's evidence. Records that arrive during the call wait for the next call. Returns true when one
   * checkpoint could not cover all records.
   */
  async function sign(tenant: string): Promise<boolean> {
    const taken = confirmed.take(tenant)
    try {
      const { more } = await options.make(tenant)
      if (more) confirmed.giveBack(tenant, { since: taken?.since ?? options.now(), records: 0 })
      return more
    } catch (error) {
      // records of another instance or an earlier run may also be unsigned; only a checkpoint excludes this
      confirmed.giveBack(tenant, taken ?? { since: options.now(), records: 0 })
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
    let left = confirmed.unsigned()
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
  confirmed.onMany = run

  return {
    async close() {
      closed = true
      confirmed.onMany = () => undefined
      clearTimeout(timer)
      await running
      let left = confirmed.unsigned()
      while (left.length > 0) left = await inTurn(left, sign)
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
