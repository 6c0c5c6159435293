import type { Deps } from '../core/deps.ts'
import { noteLoad, type PolicyLoad } from './record-policy-load.ts'

/** Records policy loads as evidence, in order, one at a time. Each load is retried until its record is durable. */
export interface LoadNotes {
  add(load: PolicyLoad): void
  /** Tries the remaining loads once more, then stops. Resolves with the number of loads that were not recorded. */
  close(): Promise<number>
}

export interface LoadNotesOptions {
  /** Pause after a failed attempt, ms. */
  readonly retryMs: number
  /**
   * Receives the first failure. The next failure is reported only after a load was recorded, because the store may be
   * unavailable for hours.
   */
  readonly onError: (error: unknown) => void
}

export function createLoadNotes(deps: Deps, { retryMs, onError }: LoadNotesOptions): LoadNotes {
  const left: PolicyLoad[] = []
  let running = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let failing = false

  async function drain(): Promise<void> {
    for (let load = left[0]; load !== undefined; load = left[0]) {
      try {
        await noteLoad(deps, load)
        left.shift()
        failing = false
      } catch (error) {
        if (!failing) onError(error)
        failing = true
        if (!closed) timer = setTimeout(start, retryMs)
        return
      }
    }
  }
  const start = (): void => {
    clearTimeout(timer)
    running = running.then(drain)
  }
  return {
    add(load) {
      left.push(load)
      start()
    },
    async close() {
      closed = true
      start()
      await running
      return left.length
    },
  }
}
