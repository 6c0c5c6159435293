import { record } from '../core/event-record.ts'
import { SYSTEM } from '../core/records.ts'
import { transact } from '../core/transact.ts'
import type { Deps } from '../core/deps.ts'

/** Records policy loads as evidence, in order, one at a time. The queue retries each record until it is durable. */
export interface LoadNotes {
  add(load: PolicyLoad): void
  /**
   * Tries once more to record the remaining loads, then stops. Resolves with the number of loads that were not
   * recorded.
   */
  close(): Promise<number>
}

export interface LoadNotesOptions {
  /** The pause after a failed attempt, ms. */
  readonly retryMs: number
  /**
   * Receives the first failure of a series. The queue reports another failure only after it has recorded a load,
   * because the store may be unavailable for hours.
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

export interface PolicyLoad {
  readonly ok: boolean
  readonly revision?: string
  readonly commit?: string
  readonly files?: number
  readonly rules?: number
  /** Present when a newer directory takes away from the bundle. */
  readonly withdrawal?: { readonly directory: string; readonly reviewers: number; readonly agents: number }
  /** First errors, as `file:line:col code`. */
  readonly errors?: readonly string[]
}

/** Records a policy load, successful or failed, or a withdrawal, as evidence in `_system`. */
export async function noteLoad(deps: Deps, load: PolicyLoad): Promise<void> {
  const { ok, errors, withdrawal, ...details } = load
  const { revision = '' } = load
  const event =
    withdrawal === undefined
      ? ({ type: ok ? 'policy.loaded' : 'policy.failed', details, disclosed: { errors } } as const)
      : ({ type: 'policy.withdrawn', details: { revision, ...withdrawal } } as const)
  await transact(deps, SYSTEM, () =>
    Promise.resolve({
      answer: undefined,
      evidence: [record(deps.store.now(), { kind: 'gateway', id: 'policies' }, { tenant: SYSTEM }, event)],
    }),
  )
}
