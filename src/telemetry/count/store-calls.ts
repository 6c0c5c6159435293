import { overriding, type Store, StoreIndeterminate, StoreUnavailable } from '../../store/store.ts'
import type { LabelsOf } from '../../metrics/table.ts'

/** A finished call of the store. */
export interface StoreCall {
  readonly operation: LabelsOf<'storeSeconds'>['operation']
  readonly seconds: number
  readonly error?: LabelsOf<'storeErrors'>['error'] | undefined
}

/**
 * Returns the store with its calls observed. The verbs report `commit` themselves, to save a promise for each decision.
 * The duration of `watch` has no meaning.
 */
export function observeStore(store: Store, observe: (call: StoreCall) => void): Store {
  const observed = <T>(operation: StoreCall['operation'], call: Promise<T>): Promise<T> => {
    const start = performance.now()
    const seconds = (): number => (performance.now() - start) / 1000
    call.then(
      () => observe({ operation, seconds: seconds() }),
      (error: unknown) => observe({ operation, seconds: seconds(), error: errorKind(error) }),
    )
    // returns the original promise, because the caller must not wait for the observer
    return call
  }
  return overriding(store, {
    get: (...asked) => observed('get', store.get(...asked)),
    range: (...asked) => observed('range', store.range(...asked)),
    count: (...asked) => observed('count', store.count(...asked)),
    charged: (...asked) => observed('charged', store.charged(...asked)),
    events: (...asked) => observed('events', store.events(...asked)),
    firstEvent: (...asked) => observed('first_event', store.firstEvent(...asked)),
    disclosures: (...asked) => observed('disclosures', store.disclosures(...asked)),
    epoch: (...asked) => observed('epoch', store.epoch(...asked)),
    claimDue: (...asked) => observed('claim_due', store.claimDue(...asked)),
  })
}

/** Returns the label value for the error of a failed call. */
export function errorKind(error: unknown): LabelsOf<'storeErrors'>['error'] {
  if (error instanceof StoreUnavailable) return 'unavailable'
  return error instanceof StoreIndeterminate ? 'indeterminate' : 'other'
}
