import type { Observation } from '../gateway/core/deps.ts'
import { StoreIndeterminate, StoreUnavailable } from '../store/store.ts'

/**
 * Watches whether the store accepts writes. A store may answer every read and refuse every write, for example with a
 * full disk, or Redis without memory or replicas. The store must therefore have acknowledged a write within the last
 * seconds. Without other writes, the report of the instance serves as that write.
 */
export interface WriteProbe {
  /** Records the end of a verb's commit. */
  noted(observation: Extract<Observation, { kind: 'commit' }>): void
  /** Returns a clause while the store refuses writes or has acknowledged no write for too long; otherwise undefined. */
  refusal(): string | undefined
  /** Writes soon, because the report has changed. */
  soon(): void
  close(): Promise<void>
}

export interface ProbeOptions {
  /** Writes the report of this instance. */
  readonly write: () => Promise<void>
  readonly everyMs: number
  /** Maximum duration of one write, ms. */
  readonly deadlineMs: number
}

/** Time between two attempts while writes fail, ms. */
const RETRY_MS = 500

export function startWriteProbe({ write, everyMs, deadlineMs }: ProbeOptions): WriteProbe {
  const retryMs = Math.min(RETRY_MS, everyMs)
  const staleMs = 2 * everyMs + deadlineMs + RETRY_MS
  let okAt = performance.now()
  let failure: string | undefined
  let timer: NodeJS.Timeout | undefined
  let underWay: Promise<void> | undefined
  let closed = false
  const schedule = (ms: number): void => {
    clearTimeout(timer)
    if (!closed) timer = setTimeout(() => void probe(), ms).unref()
  }
  const attempt = async (): Promise<void> => {
    try {
      await write()
      okAt = performance.now()
      failure = undefined
    } catch (error) {
      failure = reasonOf(error)
    }
    underWay = undefined
    schedule(failure === undefined ? everyMs : retryMs)
  }
  const probe = (): Promise<void> => (underWay ??= attempt())
  schedule(Math.ceil(everyMs / 4))
  return {
    noted({ result, error }) {
      if (result?.ok === true && result.numbers.length > 0) okAt = performance.now()
      const isAway = error instanceof StoreUnavailable || error instanceof StoreIndeterminate
      if (isAway && failure === undefined && underWay === undefined) schedule(retryMs / 5)
    },
    refusal() {
      if (failure !== undefined) return `it refuses writes: ${failure}`
      const silentMs = performance.now() - okAt
      return silentMs <= staleMs
        ? undefined
        : `no write was acknowledged for ${Math.round(silentMs / 1_000)} s`
    },
    soon: () => schedule(Math.ceil(everyMs / 20)),
    async close() {
      closed = true
      clearTimeout(timer)
      await underWay
    },
  }
}

/** Returns the store's own reason: the message of the innermost cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? reasonOf(cause) : message
}
