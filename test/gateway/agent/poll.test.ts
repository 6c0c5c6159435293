// @store each, in the soak
import { describe, expect, it, vi } from 'vitest'
import { identify } from '../../../src/gateway/auth/identify.ts'
import { poll } from '../../../src/gateway/agent/poll.ts'
import { read } from '../../../src/gateway/core/records.ts'
import type { Store } from '../../../src/store/store.ts'
import { collectGarbage } from '../../garbage.ts'
import { held, openWorld, overriding } from '../../gateway-fixture.ts'
import { until } from '../../until.ts'

/** A poll that waits on a store that never wakes it (S11: a wake-up may be missed). */

let asleep = 0
const deaf = (store: Store): Store =>
  overriding(store, {
    watch: (_, signal) => {
      asleep += 1
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    },
  })

describe('a poll that waits', () => {
  it('reads the thread again by itself, even after garbage collection', async () => {
    const world = await openWorld({ wrapStore: deaf })
    try {
      const [bot, ann] = [await world.agent(), await world.reviewer('ann')]
      const { thread } = await held(bot)
      const poll = bot.poll({ thread_id: thread }, { headers: { prefer: 'wait=50' } })
      await until(() => asleep > 0)
      await collectGarbage()
      await ann.approve(thread)
      expect((await poll).body.status).toBe('approved')
    } finally {
      await world.close()
    }
  })

  it.each([
    ['each second where few wait', 500, 1_000],
    ['less often where many do: 500 of them in a second, however many', 5_000, 10_000],
  ])('looks again %s', async (_, waiting, ms) => {
    const looks = await looksOf({ waiting, after: ms })
    await until(() => looks.count() > 1)
    expect(looks.asked()).toBe(true)
    await looks.end()
  })

  it('reads its thread at the deadline, however many polls wait', async () => {
    const looks = await looksOf({ waiting: 10_000, after: 3_000, deadlineInMs: 3_000 })
    expect((await looks.answer).status).toBe('rejected')
    expect(looks.asked()).toBe(true)
    await looks.end()
  })
})

interface Beside {
  /** The number of polls that wait at the same instance. */
  readonly waiting: number
  /** The time until the next look, ms. The test lets only this time pass at once. */
  readonly after: number
  readonly deadlineInMs?: number
}

async function looksOf({ waiting, after, deadlineInMs }: Beside) {
  const world = await openWorld({ wrapStore: deaf })
  const bot = await world.agent()
  const { thread } = await held(bot)
  const { store } = world.app.deps
  const { deadline = 0 } = (await read(store, 'acme', 'thread', thread))?.value ?? {}
  if (deadlineInMs !== undefined) world.clock.advance(deadline - deadlineInMs - world.clock.now)
  const caller = await identify(world.app.deps, 'agent', bot.key)
  const [before, later, controller] = [asleep, setTimeout, new AbortController()]
  let asked = false
  const timers = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms: number) => {
    if (ms !== after) return later(run, ms)
    asked = true
    world.clock.advance(ms)
    return later(run, 0)
  }) as typeof setTimeout)
  const wait = { ms: 55_000, signal: controller.signal, waiting: () => waiting }
  const answer = poll(world.app.deps, caller, { thread_id: thread }, { callerGone: () => false, wait }).then(
    (committed) => committed.answer,
  )
  return {
    answer,
    count: () => asleep - before,
    asked: () => asked,
    async end() {
      timers.mockRestore()
      controller.abort()
      await answer
      await world.close()
    },
  }
}
