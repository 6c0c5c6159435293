// @store each, in the soak
import { afterEach, beforeEach, expect, it } from 'vitest'
import { INDEX } from '../../../src/gateway/core/indexes.ts'
import type { Write } from '../../../src/store/store.ts'
import { held, openWorld, overriding, type World } from '../../gateway-fixture.ts'
import { countTurns } from '../../turns.ts'

let world: World
const turns = countTurns()
/** As many as one page looks at. */
const MANY = 1_000

beforeEach(async () => {
  world = await openWorld({
    wrapStore: (store) =>
      overriding(store, {
        get: (tenant, type, id) => {
          if (type === 'thread') turns.count()
          return store.get(tenant, type, id)
        },
      }),
  })
})
afterEach(() => world.close())

it('a page with few matches reads 200 threads at a time, so that other requests are answered in between', async () => {
  const [bot, ann] = [await world.agent(), await world.reviewer('ann')]
  const { thread } = await held(bot)
  const { deps } = world.app
  const later = deps.store.now() + 1
  const writes = Array.from({ length: MANY - 1 }, (_, i): Write => {
    return { op: 'index', index: INDEX.threads, member: `thr_${i}`, to: later }
  })
  const commit = { commitId: deps.nextCommitId(), deadline: Infinity, guards: [], writes, events: [] }
  expect(await deps.store.commit('acme', commit)).toMatchObject({ ok: true })
  turns.begin()
  const { body } = await ann.list({ q: thread })
  expect(body.threads.map(({ thread_id }) => thread_id)).toEqual([thread])
  expect(turns.most()).toBeLessThanOrEqual(200)
})

it('every word that a list prints for a status is a status to ask for', async () => {
  const [bot, ann] = [await world.agent(), await world.reviewer('ann')]
  const [gone, refused] = [await held(bot), await held(bot)]
  await bot.withdraw(gone.thread)
  await ann.vote(refused.thread, { decision: 'reject', revision: 1 })
  const listed = async (status: string): Promise<string[]> =>
    (await ann.list({ status })).body.threads.map(({ thread_id }) => thread_id)
  expect(await listed('withdrawn')).toEqual([gone.thread])
  expect((await listed('rejected')).toSorted()).toEqual([gone.thread, refused.thread].toSorted())
  expect(await listed('approved')).toEqual([])
})
