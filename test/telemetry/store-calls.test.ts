import { describe, expect, it } from 'vitest'
import {
  type Commit,
  type CommitResult,
  type Store,
  StoreIndeterminate,
  StoreUnavailable,
} from '../../src/store/store.ts'
import { observeStore, type StoreCall } from '../../src/telemetry/store-calls.ts'

const COMMIT: Commit = { commitId: 'c', deadline: 1, guards: [], writes: [], events: [] }

/** A store of which only what is given exists. */
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

const answering = (result: CommitResult): Partial<Store> => ({ commit: () => Promise.resolve(result) })

describe('an observed store', () => {
  it('answers as the store does, and tells of each call when it has ended', async () => {
    const { store, calls } = observed({
      get: (partition, type, id) =>
        Promise.resolve({ body: `${partition}/${type}/${id}`, revision: 1, commitId: 'c' }),
      ...answering({ ok: true, numbers: [7] }),
    })
    expect((await store.get('acme', 'thread', 'x'))?.body).toBe('acme/thread/x')
    expect(await store.commit('acme', COMMIT)).toEqual({ ok: true, numbers: [7] })
    expect(calls()).toEqual([{ operation: 'get' }, { operation: 'commit' }])
  })

  it('tells a commit that was refused from one that failed', async () => {
    const refused = observed(answering({ ok: false, reason: 'guard', failed: [0] }))
    await refused.store.commit('acme', COMMIT)
    const late = observed(answering({ ok: false, reason: 'late' }))
    await late.store.commit('acme', COMMIT)
    expect([...refused.calls(), ...late.calls()]).toEqual([
      { operation: 'commit', conflict: 'guard' },
      { operation: 'commit', conflict: 'late' },
    ])
  })

  it.each([
    ['unavailable', new StoreUnavailable('x')],
    ['indeterminate', new StoreIndeterminate('x')],
    ['other', new TypeError('x')],
  ])('a failure is told as %s, and is the caller’s as it was', async (error, failure) => {
    const { store, calls } = observed({ range: () => Promise.reject(failure) })
    await expect(store.range('acme', 'threads', { limit: 1 })).rejects.toBe(failure)
    expect(calls()).toEqual([{ operation: 'range', error }])
  })
})
