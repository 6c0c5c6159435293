import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { encodeCommit } from '../../../src/store/embedded/batch.ts'
import { createRunway } from '../../../src/store/embedded/group-commit.ts'
import { StoreIndeterminate, StoreUnavailable } from '../../../src/store/store.ts'
import type { Flight } from '../../../src/store/embedded/batch.ts'
import type { CommitResult } from '../../../src/store/store.ts'
import { standStill } from '../../stand-still.ts'

/*
 * The group commit over a disk that is played by the test: each flight stays in the air until the test lands it.
 */
const ENOSPC = 28
const EIO = 5

function airport({ leftNothing = true, nearlyFull = false } = {}) {
  let time = 1_000
  let full: string | undefined
  const flights: { flight: Flight; land: (written: boolean) => void; crash: (code: number) => void }[] = []
  const runway = createRunway({
    clock: { now: () => time },
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
      lastNumber: () => 0,
      due: () => [],
    },
    write: (flight) =>
      new Promise((land, reject) => {
        flights.push({ flight, land, crash: (code) => reject(lmdbFailure(code)) })
      }),
    leftNothing: () => leftNothing,
    landed: () => {},
  })
  return {
    runway,
    flights,
    advance: (ms: number) => (time += ms),
    heal: () => (full = undefined),
    commit: (deadline = time + 1_000, events = ['e']): Promise<CommitResult> =>
      runway.commit(
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
  it('takes all who wait on one flight and answers when it has landed', async () => {
    const { commit, flights } = airport()
    const calls = [commit(), commit(), commit()]
    await turn()
    const late = commit()
    await turn()
    expect(flights).toHaveLength(1)
    expect(flights[0]?.flight.events).toHaveLength(3)
    flights[0]?.land(true)
    expect(await Promise.all(calls)).toEqual([1, 2, 3].map((number) => ({ ok: true, numbers: [number] })))
    await turn()
    flights[1]?.land(true)
    expect(await late).toMatchObject({ ok: true })
  })

  it('takes no more than 512 on a flight, in their order', async () => {
    const { commit, flights } = airport()
    const calls = Array.from({ length: 1_100 }, () => commit())
    const sizes: number[] = []
    while (sizes.length < 3) {
      await turn()
      const latest = flights[sizes.length]
      if (latest === undefined) continue
      sizes.push(latest.flight.events.length)
      latest.land(true)
    }
    await Promise.all(calls)
    expect(sizes).toEqual([512, 512, 76])
  })

  it('S08 a commit whose deadline passes on the ground is late', async () => {
    const { commit, flights, advance } = airport()
    const first = commit()
    await turn()
    const second = commit(1_020)
    advance(30)
    expect(await second).toEqual({ ok: false, reason: 'late' })
    flights[0]?.land(true)
    expect(await first).toMatchObject({ ok: true })
    await turn()
    expect(flights).toHaveLength(1)
  })

  it('S08 a refused commit whose deadline passes in the air has changed nothing: it is late', async () => {
    const { runway, commit, flights, advance } = airport()
    const other = commit()
    const guards = [{ type: 'a', id: 'a', revision: 1 }]
    const refused = runway.commit(
      encodeCommit('t', { commitId: 'c', deadline: 1_010, guards, writes: [], events: [] }, 0),
    )
    await turn()
    advance(20)
    expect(await refused).toEqual({ ok: false, reason: 'late' })
    flights[0]?.land(true)
    expect(await other).toMatchObject({ ok: true })
  })

  it('S09 a commit whose deadline passes in the air is indeterminate, and the flight goes on', async () => {
    const { commit, flights, advance } = airport()
    const patient = commit(60_000)
    const hurried = commit(1_010)
    await turn()
    advance(20)
    await expect(hurried).rejects.toBeInstanceOf(StoreIndeterminate)
    flights[0]?.land(true)
    expect(await patient).toEqual({ ok: true, numbers: [1] })
  })

  it('after a failed sync nobody is told success, and nothing is written until a restart', async () => {
    const { commit, flights, runway } = airport()
    const inTheAir = [commit(), commit()]
    await turn()
    const onTheGround = commit()
    flights[0]?.crash(EIO)
    for (const call of inTheAir) await expect(call).rejects.toBeInstanceOf(StoreIndeterminate)
    await expect(onTheGround).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(commit()).rejects.toThrow(/restart is needed: errno 5/)
    expect(runway.refusal()).toMatch(/errno 5/)
    expect(flights).toHaveLength(1)
  })

  it('a full disk refuses what was in the air, provably not executed, and heals', async () => {
    const { commit, flights, heal } = airport()
    const inTheAir = commit()
    await turn()
    flights[0]?.crash(ENOSPC)
    await expect(inTheAir).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(commit()).rejects.toThrow(/full/)
    heal()
    const again = commit()
    await turn()
    flights[1]?.land(true)
    expect(await again).toMatchObject({ ok: true })
  })

  it('a write that was cut short by a full disk counts as a full disk', async () => {
    const { commit, flights } = airport({ nearlyFull: true })
    const inTheAir = commit()
    await turn()
    flights[0]?.crash(EIO)
    await expect(inTheAir).rejects.toThrow('the disk is full')
  })

  it('a full disk that may have left something is a failed sync', async () => {
    const { commit, flights, heal } = airport({ leftNothing: false })
    const inTheAir = commit()
    await turn()
    flights[0]?.crash(ENOSPC)
    await expect(inTheAir).rejects.toBeInstanceOf(StoreIndeterminate)
    heal()
    await expect(commit()).rejects.toBeInstanceOf(StoreUnavailable)
  })

  it('a foreign write refuses the flight and everything after it', async () => {
    const { commit, flights } = airport()
    const inTheAir = commit()
    await turn()
    flights[0]?.land(false)
    await expect(inTheAir).rejects.toBeInstanceOf(StoreUnavailable)
    await expect(commit()).rejects.toThrow(/another process/)
  })

  it('refuses while the disk has not confirmed a write for five seconds, and goes on when it has', async () => {
    const { commit, flights, runway } = airport()
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] })
    const inTheAir = commit()
    await turn()
    vi.advanceTimersByTime(5_000)
    expect(runway.refusal()).toBeUndefined()
    vi.advanceTimersByTime(1)
    // it may have confirmed while this process stood still
    expect(runway.refusal()).toBeUndefined()
    vi.advanceTimersByTime(100)
    expect(runway.refusal()).toBe('the disk has not confirmed a write for 5000 ms')
    await expect(commit()).rejects.toBeInstanceOf(StoreUnavailable)
    flights[0]?.land(true)
    expect(await inTheAir).toMatchObject({ ok: true })
    expect(runway.refusal()).toBeUndefined()
  })

  it('S09 hears what has landed while this process stood still, before it calls a commit indeterminate', async () => {
    const { commit, flights, advance } = airport()
    const call = commit(1_010)
    await turn()
    // the disk's answer is there, behind the timer, when we go on
    const { port1, port2 } = new MessageChannel()
    port1.once('message', () => flights[0]?.land(true))
    port2.postMessage('landed')
    advance(20)
    standStill(50)
    expect(await call).toEqual({ ok: true, numbers: [1] })
    port1.close()
  })

  it('S13 close refuses what waits and lets what is in the air arrive', async () => {
    const { commit, flights, runway } = airport()
    const inTheAir = commit()
    await turn()
    const onTheGround = commit()
    const closing = runway.close()
    await expect(onTheGround).rejects.toBeInstanceOf(StoreUnavailable)
    flights[0]?.land(true)
    expect(await inTheAir).toMatchObject({ ok: true })
    await closing
    await expect(commit()).rejects.toThrow(/closed/)
  })
})
