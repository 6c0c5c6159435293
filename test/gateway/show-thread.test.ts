import { afterEach, beforeEach, expect, it } from 'vitest'
import { LIMITS } from '../../src/contract/limits.ts'
import { held, openWorld, overriding, type World } from '../gateway-fixture.ts'
import { countTurns } from '../turns.ts'

let world: World
const turns = countTurns()

beforeEach(async () => {
  world = await openWorld({
    wrapStore: (store) =>
      overriding(store, {
        get: (tenant, type, id) => {
          if (type === 'revision') turns.count()
          return store.get(tenant, type, id)
        },
      }),
  })
})
afterEach(() => world.close())

it('a thread of many revisions is shown whole, and read a few revisions at a time: each may hold a whole request', async () => {
  const [bot, ann] = [await world.agent(), await world.reviewer('ann')]
  const { task, thread } = await held(bot)
  for (let i = 2; i <= LIMITS.REVISIONS; i++) {
    const revision = { revision_id: `r${i}`, request_payload: { amount: 500 + i } }
    expect((await bot.revise(task, thread, revision)).status).toBe(201)
  }
  turns.begin()
  const { body } = await ann.show(thread)
  const amounts = body.revisions.map(({ payload }) => (payload as { amount: number }).amount)
  expect(amounts).toEqual(Array.from({ length: LIMITS.REVISIONS }, (_, i) => (i === 0 ? 500 : 501 + i)))
  expect(body.payload).toEqual({ amount: 520 })
  expect(turns.most()).toBeLessThanOrEqual(2)
})
