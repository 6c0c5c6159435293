import { describe, expect, it } from 'vitest'
import { type Commit, type Store, StoreIndeterminate, StoreUnavailable } from '../../src/store/store.ts'
import { observeStore, type StoreCall } from '../../src/telemetry/count/store-calls.ts'

/** An observed store that has only the given methods. */
function observed(store: Partial<Store>): { store: Store; calls: () => Omit<StoreCall, 'seconds'>[] } {
  const calls: StoreCall[] = []
  return {
    store: observeStore({ durability: 'fsync', ...store } as Store, (call) => calls.push(call)),
    calls: () =>
      calls.map(({ seconds, ...call }) => {
        expect(seconds).toBeGreaterThanOrEqual(0)
        return call
      }),
  }
}

describe('an observed store', () => {
  it('answers as the store does, and reports each call when it has ended', async () => {
    const { store, calls } = observed({
      get: (partition, type, id) =>
        Promise.resolve({ body: `${partition}/${type}/${id}`, revision: 1, commitId: 'c' }),
      count: () => Promise.resolve(7),
    })
    expect((await store.get('acme', 'thread', 'x'))?.body).toBe('acme/thread/x')
    expect(await store.count('acme', 'threads')).toBe(7)
    expect(calls()).toEqual([{ operation: 'get' }, { operation: 'count' }])
  })

  it('leaves commits to the verbs', async () => {
    const { store, calls } = observed({ commit: () => Promise.resolve({ ok: true, numbers: [7] }) })
    expect(await store.commit('acme', {} as Commit)).toEqual({ ok: true, numbers: [7] })
    expect(calls()).toEqual([])
  })

  it.each([
    ['unavailable', new StoreUnavailable('x')],
    ['indeterminate', new StoreIndeterminate('x')],
    ['other', new TypeError('x')],
  ])('logs a failure as %s, and passes it to the caller unchanged', async (error, failure) => {
    const { store, calls } = observed({ range: () => Promise.reject(failure) })
    await expect(store.range('acme', 'threads', { limit: 1 })).rejects.toBe(failure)
    expect(calls()).toEqual([{ operation: 'range', error }])
  })
})
