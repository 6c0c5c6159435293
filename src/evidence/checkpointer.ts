/**
 * Signs what evidence has grown to (design.md section 8): every second while something is written, at once after a thousand records, and a look at
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
  records: number
}

export function createCheckpointer(options: CheckpointerOptions): Checkpointer {
  const unsigned = new Map<string, Unsigned>()
  let rounds = 0
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  /** A list of its own: what fails is noted again. */
  const waiting = (): string[] => Array.from(unsigned.keys())

  /** What is noted while it is signed waits for the next time. */
  async function sign(tenant: string): Promise<void> {
    const before = unsigned.get(tenant)
    unsigned.delete(tenant)
    try {
      const { more } = await options.make(tenant)
      if (more) noteAgain(tenant, before ?? { since: options.now(), records: 0 })
    } catch (error) {
      if (before) noteAgain(tenant, before)
      options.onError(error)
    }
  }

  function noteAgain(tenant: string, { since, records }: Unsigned): void {
    unsigned.set(tenant, { since, records: records + (unsigned.get(tenant)?.records ?? 0) })
  }

  async function round(): Promise<void> {
    const all = rounds++ % LOOK_AT_ALL_EVERY === 0
    try {
      if (all) for (const tenant of await options.tenants()) await sign(tenant)
    } catch (error) {
      options.onError(error)
    }
    for (const tenant of waiting()) await sign(tenant)
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
      const before = unsigned.get(tenant)
      if (before === undefined) {
        unsigned.set(tenant, { since: options.now(), records: 1 })
        return
      }
      before.records += 1
      if (before.records === AT_ONCE_RECORDS && !closed) run()
    },
    lagMs() {
      const oldest = Math.min(...[...unsigned.values()].map(({ since }) => since))
      return unsigned.size === 0 ? 0 : Math.max(0, options.now() - oldest)
    },
    async close() {
      closed = true
      clearTimeout(timer)
      await running
      for (const tenant of waiting()) await sign(tenant)
    },
  }
}
