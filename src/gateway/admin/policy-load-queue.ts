import type { Deps } from '../core/deps.ts'
import { noteLoad, type PolicyLoad } from './record-policy-load.ts'

/** Policy loads on their way into evidence: in order, one after another, tried again until each is durable. */
export interface LoadNotes {
  add(load: PolicyLoad): void
  /** Gives what is left one more try, then stops. Resolves with how many could not be recorded. */
  close(): Promise<number>
}

export interface LoadNotesOptions {
  /** Pause after a failed try, ms. */
  readonly retryMs: number
  /** Told of the first failure, and of the next only when a load was recorded in between: the store may be away for hours. */
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
