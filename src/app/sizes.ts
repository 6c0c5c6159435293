import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { measureStore } from '../gateway/integrity/measure-store.ts'
import type { Deps } from '../gateway/core/deps.ts'
import type { Config } from '../settings/settings.ts'
import { type Store, StoreUnavailable } from '../store/store.ts'
import { openLive } from './store.ts'

/** Time between two looks whether a measurement is due, ms. The first look is not at the start, which is busy. */
const LOOK_EVERY_MS = 60_000
const FIRST_LOOK_MS = 5_000
/** Pauses, in multiples of the time of work: decisions come first. */
const PAUSES = 19

export interface SizesParts {
  readonly store: Store
  readonly log: Pick<Logger, 'warn'>
  readonly everyMs?: number
}

export interface Sizes {
  close(): Promise<void>
}

/** Measures the store in the background, once a day (gateway/integrity/measure-store.ts). */
export function startSizes(deps: Deps, config: Config, parts: SizesParts): Sizes {
  const stop = new AbortController()
  let running: Promise<void> | undefined
  const look = async (): Promise<void> => {
    const live = await openLive(config, parts.store)
    try {
      await measureStore(deps, {
        now: () => live.now(),
        pages: () => live.pages(),
        rest: restOf(stop.signal),
      })
    } finally {
      await live.close()
    }
  }
  const attempt = (): void => {
    running ??= look()
      .catch((err: unknown) => {
        if (!stop.signal.aborted)
          parts.log.warn({ err }, 'the store cannot be measured: its sizes are not current')
      })
      .finally(() => (running = undefined))
  }
  const { everyMs = LOOK_EVERY_MS } = parts
  const first = setTimeout(attempt, Math.min(FIRST_LOOK_MS, everyMs)).unref()
  const timer = setInterval(attempt, everyMs).unref()
  return {
    close: async () => {
      stop.abort(new StoreUnavailable('the gateway stops'))
      clearTimeout(first)
      clearInterval(timer)
      await running
    },
  }
}

/** Rests for a multiple of the time since the last rest. */
function restOf(signal: AbortSignal): () => Promise<void> {
  let since = performance.now()
  return async () => {
    signal.throwIfAborted()
    await pause((performance.now() - since) * PAUSES, undefined, { ref: false, signal })
    since = performance.now()
  }
}
