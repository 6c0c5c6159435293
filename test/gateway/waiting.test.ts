import { describe, expect, it } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { collectGarbage } from '../garbage.ts'
import { held, openWorld, overriding, until } from '../gateway-fixture.ts'

/** A poll that waits, when the store wakes nobody (S11: a wake-up may be missed). */

let asleep = 0
const deaf = (store: Store): Store =>
  overriding(store, {
    watch: (_, signal) => {
      asleep += 1
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
    },
  })

describe('a poll that waits', () => {
  it('looks again by itself, whatever the engine has forgotten meanwhile', async () => {
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
})
