import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Deps } from '../../../src/gateway/core/deps.ts'
import { createLoadNotes } from '../../../src/gateway/admin/policy-load-queue.ts'
import { StoreUnavailable } from '../../../src/store/store.ts'

/** A store that fails the given number of commits, and remembers the events that it stored. */
function depsThat(failures: number): { deps: Deps; written: string[]; fail: (times: number) => void } {
  const written: string[] = []
  let left = failures
  const commit = (_: string, { events }: { events: string[] }) => {
    if (left-- > 0) return Promise.reject(new StoreUnavailable('the disk is full'))
    written.push(...events)
    return Promise.resolve({ ok: true, numbers: events.map((_, i) => i + 1) })
  }
  const store = { now: () => 0, commit }
  const deps = {
    store,
    storeDeadlineMs: 1_000,
    nextCommitId: () => 'c',
    enqueue: () => Promise.resolve({ guards: [], writes: [] }),
    observe: () => undefined,
  }
  return { deps: deps as unknown as Deps, written, fail: (times) => (left = times) }
}

const revisionsIn = (written: readonly string[]): unknown[] =>
  written.map((text) => (JSON.parse(text) as { details: { revision: string } }).details.revision)

describe('records of policy loads', () => {
  beforeEach(() => vi.useFakeTimers())
  afterEach(() => vi.useRealTimers())

  it('records of policy loads are retried until they are durable, in order, each once', async () => {
    const { deps, written } = depsThat(3)
    const onError = vi.fn()
    const notes = createLoadNotes(deps, { retryMs: 1_000, onError })
    notes.add({ ok: true, revision: 'one' })
    notes.add({ ok: true, revision: 'two' })
    await vi.advanceTimersByTimeAsync(5_000)
    expect(revisionsIn(written)).toEqual(['one', 'two'])
    expect(onError).toHaveBeenCalledOnce()
  })

  it('records of policy loads report a failure once, and again after a record was written', async () => {
    const { deps, fail } = depsThat(3_600)
    const onError = vi.fn()
    const notes = createLoadNotes(deps, { retryMs: 1_000, onError })
    notes.add({ ok: true, revision: 'one' })
    await vi.advanceTimersByTimeAsync(3_599_000)
    expect(onError).toHaveBeenCalledOnce()
    await vi.advanceTimersByTimeAsync(2_000)
    fail(1)
    notes.add({ ok: true, revision: 'two' })
    await vi.advanceTimersByTimeAsync(0)
    expect(onError).toHaveBeenCalledTimes(2)
  })

  it('records of policy loads are retried once more at the end, and the remaining ones are reported', async () => {
    const { deps, written } = depsThat(2)
    const notes = createLoadNotes(deps, { retryMs: 1_000, onError: () => undefined })
    notes.add({ ok: true, revision: 'one' })
    await vi.advanceTimersByTimeAsync(0)
    expect(await notes.close()).toBe(1)
    expect(written).toEqual([])
  })
})
