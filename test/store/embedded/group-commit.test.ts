import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { encodeCommit } from '../../../src/store/embedded/batch.ts'
import { createGroupCommit } from '../../../src/store/embedded/group-commit.ts'
import { StoreIndeterminate, StoreUnavailable } from '../../../src/store/store.ts'
import type { Batch } from '../../../src/store/embedded/batch.ts'
import type { CommitResult } from '../../../src/store/store.ts'
import { standStill } from '../../stand-still.ts'

/*
 * The group commit over a disk that is played by the test: each batch waits until the test writes it or lets it fail.
 */
const ENOSPC = 28
const EIO = 5

function openGroupCommit({ leftNothing = true, nearlyFull = false } = {}) {
  let time = 1_000
  let full: string | undefined
  const batches: { batch: Batch; land: (written: boolean) => void; crash: (code: number) => void }[] = []
  const groupCommit = createGroupCommit({
    clock: { now: () => time, jumpMs: () => undefined },
    disk: {
      refusal: () => full,
      shortage: () => full,
      isFull: () => nearlyFull,
      roomBytes: () => undefined,
      reportFull: () => (full = 'the disk is full'),
    },
    before: {
      epoch: 'e',
      refresh: () => {},
      head: () => ({ revision: 0, commitId: '' }),
      score: () => undefined,
      window: () => undefined,
      firstNumber: () => 1,
      lastNumber: () => 0,
      due: () => [],
    },
    write: (batch) =>
      new Promise((land, reject) => {
        batches.push({ batch, land, crash: (code) => reject(lmdbFailure(code)) })
      }),
    leftNothing: () => leftNothing,
    landed: () => {},
  })
  return {
    groupCommit,
    batches,
    advance: (ms: number) => (time += ms),
    heal: () => (full = undefined),
    commit: (deadline = time + 1_000, events = ['e']): Promise<CommitResult> =>
      groupCommit.commit(
        encodeCommit(
          't',
          { commitId: 'c', deadline, guards: [], writes: [], events },
          events.join('').length,
        ),
      ),
  }
}

/** LMDB's way to say that a commit failed: an error with a second promise that rejects a little later. */
function lmdbFailure(code: number): Error {
  const cause = Object.assign(new Error(`errno ${code}`), { code })
  const commitError = new Promise((_, reject) => queueMicrotask(() => reject(cause)))
  return Object.assign(new Error('Commit failed (see commitError for details)'), { commitError })
}

const unhandled: unknown[] = []
const note = (reason: unknown): void => void unhandled.push(reason)
beforeAll(() => void process.on('unhandledRejection', note))
afterAll(() => void process.off('unhandledRejection', note))
afterEach(async () => {
  vi.useRealTimers()
  await turn()
  expect(unhandled).toEqual([])
})

describe('the group commit', () => {
  it('writes all queued calls in one batch, and answers when it is durable', async () => {
    const { commit, batches } = openGroupCommit()
    const calls = [commit(), commit(), commit()]
    await turn()
    const late = commit()
    await turn()
    expect(batches).toHaveLength(1)
    expect(batches[0]?.batch.events).toHaveLength(3)
    batches[0]?.land(true)
    expect(await Promise.all(calls)).toEqual([1, 2, 3].map((number) => ({ ok: true, numbers: [number] })))
    await turn()
    batches[1]?.land(true)
    expect(await late).toMatchObject({ ok: true })
  })

  it('writes at most 512 calls in a batch, in their order', async () => {
    const { commit, batches } = openGroupCommit()
    const calls = Array.from({ length: 1_100 }, () => commit())
    const sizes: number[] = []
    while (sizes.length < 3) {
      await turn()
      const latest = batches[sizes.length]
      if (latest === undefined) continue
      sizes.push(latest.batch.events.length)
      latest.land(true)
    }
    await Promise.all(calls)
    expect(sizes).toEqual([512, 512, 76])
  })

  it('S08 a commit whose deadline passes in the queue is late', async () => {
    const { commit, batches, advance } = openGroupCommit()
    const first = commit()
    await turn()
    const second = commit(1_020)
    advance(30)
    expect(await second).toEqual({ ok: false, reason: 'late' })
    batches[0]?.land(true)
    expect(await first).toMatchObject({ ok: true })
    await turn()
    expect(batches).toHaveLength(1)
  })

  it('S08 a refused commit whose deadline passes during the write has changed nothing, and is late', async () => {
    const { groupCommit, commit, batches, advance } = openGroupCommit()
    const other = commit()
    const guards = [{ type: 'a', id: 'a', revision: 1 }]
    const refused = groupCommit.commit(
      encodeCommit('t', { commitId: 'c', deadline: 1_010, guards, writes: [], events: [] }, 0),
    )
    await turn()
    advance(20)
    expect(await refused).toEqual({ ok: false, reason: 'late' })
    batches[0]?.land(true)
    expect(await other).toMatchObject({ ok: true })
  })

  it('S09 a commit whose deadline passes during the write is indeterminate, and the batch continues', async () => {
    const { commit, batches, advance } = openGroupCommit()
    const patient = commit(60_000)
    const hurried = commit(1_010)
    await turn()
    advance(20)
    await expect(hurried).rejects.toBeInstanceOf(StoreIndeterminate)
    batches[0]?.land(true)
    expect(await patient).toEqual({ ok: true, numbers: [1] })
  })

  it('after a failed sync, reports no success and writes nothing until a restart', async () => {
    const { commit, batches, groupCommit } = openGroupCommit()
    const underWay = [commit(), commit()]
    await turn()
    const queued = commit()
    batches[0]?.crash(EIO)
    for (const call of underWay) await expect(call).rejects.toBeInstanceOf(StoreIndeterminate)
    await expect(queued).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(commit()).rejects.toThrow(/restart is needed: errno 5/)
    expect(groupCommit.refusal()).toMatch(/errno 5/)
    expect(batches).toHaveLength(1)
  })

  it('a full disk refuses the calls of the batch as provably not executed, and recovers', async () => {
    const { commit, batches, heal } = openGroupCommit()
    const underWay = commit()
    await turn()
    batches[0]?.crash(ENOSPC)
    await expect(underWay).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(commit()).rejects.toThrow(/full/)
    heal()
    const again = commit()
    await turn()
    batches[1]?.land(true)
    expect(await again).toMatchObject({ ok: true })
  })

  it('a write that a full disk cuts short counts as a full disk', async () => {
    const { commit, batches } = openGroupCommit({ nearlyFull: true })
    const underWay = commit()
    await turn()
    batches[0]?.crash(EIO)
    await expect(underWay).rejects.toThrow('the disk is full')
  })

  it('a full disk that may have left data counts as a failed sync', async () => {
    const { commit, batches, heal } = openGroupCommit({ leftNothing: false })
    const underWay = commit()
    await turn()
    batches[0]?.crash(ENOSPC)
    await expect(underWay).rejects.toBeInstanceOf(StoreIndeterminate)
    heal()
    await expect(commit()).rejects.toBeInstanceOf(StoreUnavailable)
  })

  it('a foreign write refuses the batch and everything after it', async () => {
    const { commit, batches } = openGroupCommit()
    const underWay = commit()
    await turn()
    batches[0]?.land(false)
    await expect(underWay).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(commit()).rejects.toThrow(/another process/)
  })

  it('refuses calls while the disk has confirmed no write for five seconds, and then recovers', async () => {
    const { commit, batches, groupCommit } = openGroupCommit()
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] })
    const underWay = commit()
    await turn()
    vi.advanceTimersByTime(5_000)
    expect(groupCommit.refusal()).toBeUndefined()
    vi.advanceTimersByTime(1)
    expect(groupCommit.refusal()).toBe('the disk has not confirmed a write for 5000 ms')
    await expect(commit()).rejects.toBeInstanceOf(StoreUnavailable)
    batches[0]?.land(true)
    expect(await underWay).toMatchObject({ ok: true })
    expect(groupCommit.refusal()).toBeUndefined()
  })

  it('S09 reads a confirmation that arrived during a pause before it reports an indeterminate commit', async () => {
    const { commit, batches, advance } = openGroupCommit()
    const call = commit(1_010)
    await turn()
    // the disk's answer is there, behind the timer, when the thread continues
    const { port1, port2 } = new MessageChannel()
    port1.once('message', () => batches[0]?.land(true))
    port2.postMessage('landed')
    advance(20)
    standStill(50)
    expect(await call).toEqual({ ok: true, numbers: [1] })
    port1.close()
  })

  it('S13 close refuses queued calls and waits for the current batch', async () => {
    const { commit, batches, groupCommit } = openGroupCommit()
    const underWay = commit()
    await turn()
    const queued = commit()
    const closing = groupCommit.close()
    await expect(queued).rejects.toBeInstanceOf(StoreUnavailable)
    batches[0]?.land(true)
    expect(await underWay).toMatchObject({ ok: true })
    await closing
    await expect(commit()).rejects.toThrow(/closed/)
  })
})
