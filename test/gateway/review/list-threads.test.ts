// @store each, in the soak
import { expect, it } from 'vitest'
import { INDEX } from '../../../src/gateway/core/indexes.ts'
import type { Write } from '../../../src/store/store.ts'
import { eachWorld, world } from '../../agent-world.ts'
import { type Agent, held, MINUTE, overriding, type Reviewer } from '../../gateway-fixture.ts'
import { countTurns } from '../../turns.ts'

const turns = countTurns()
/** The number of threads that one page looks at. */
const MANY = 1_000

eachWorld({
  wrapStore: (store) =>
    overriding(store, {
      get: (tenant, type, id) => {
        if (type === 'thread') turns.count()
        return store.get(tenant, type, id)
      },
    }),
})

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

/** The ids of all waiting threads in pages of two, as `who` gets them. */
async function queueOf(who: Reviewer, query: Record<string, string> = {}): Promise<string[]> {
  const found: string[] = []
  let cursor: string | undefined
  do {
    const asked = { status: 'pending_review', limit: '2', ...query, ...(cursor && { cursor }) }
    const { body } = await who.list(asked)
    found.push(...body.threads.map(({ thread_id }) => thread_id))
    cursor = body.next_cursor
  } while (cursor !== undefined)
  return found
}

const paying = (agent: Agent, amount: number): Promise<string> =>
  held(agent, { payload: { amount } }).then(({ thread }) => thread)
const HIGH = 20_000
const CRITICAL = 60_000

it('waiting threads are in order of risk, then of the time left, and those of others come last', async () => {
  const [bot, other, ann] = [await world.agent(), await world.agent('other'), await world.reviewer('ann')]
  const low = await paying(bot, 500)
  const high = await paying(bot, HIGH)
  world.clock.advance(MINUTE)
  const laterHigh = await paying(other, HIGH)
  const critical = await paying(bot, CRITICAL)
  const { thread: brief } = await held(bot, { tool_name: 'brief', payload: {} })
  expect(await queueOf(ann)).toEqual([critical, high, laterHigh, brief, low])
  expect(await queueOf(ann, { risk: 'high' })).toEqual([high, laterHigh])
  const byAge = [low, high, laterHigh, critical, brief]
  expect(await queueOf(ann, { sort: 'oldest' })).toEqual(byAge)
  expect(await queueOf(ann, { sort: 'newest' })).toEqual(byAge.toReversed())
  expect(await queueOf(ann, { sort: 'oldest', risk: 'high' })).toEqual([high, laterHigh])
  await ann.vote(critical, { decision: 'approve', revision: 1 })
  expect(await queueOf(ann)).toEqual([high, laterHigh, brief, low, critical])
  expect(await queueOf(ann, { mine: 'true' })).toEqual([high, laterHigh, brief, low])
  expect(await queueOf(ann, { sort: 'agent' })).toEqual([low, high, critical, brief, laterHigh])
  expect(await queueOf(ann, { sort: 'tool' })).toEqual([brief, low, high, laterHigh, critical])
  await ann.approve(high)
  expect(await queueOf(ann)).toEqual([laterHigh, brief, low, critical])
  expect(
    (await ann.list({ status: 'pending_review', agent: 'other', sort: 'tool' })).body.threads,
  ).toHaveLength(1)
})

it('a thread is as urgent as its next escalation, until that has happened', async () => {
  const [bot, ann] = [await world.agent(), await world.reviewer('ann')]
  const first = await paying(bot, HIGH)
  world.clock.advance(25 * MINUTE)
  const second = await paying(bot, HIGH)
  expect(await queueOf(ann)).toEqual([first, second])
  world.clock.advance(6 * MINUTE)
  await world.due()
  // the second escalates at 55 minutes, and the first ends at 60
  expect(await queueOf(ann)).toEqual([second, first])
})

it('the first page of a long queue reads as many threads as the first page of a short one', async () => {
  const [bot, ann] = [await world.agent(), await world.reviewer('ann')]
  for (let i = 0; i < 30; i++) await paying(bot, 500)
  turns.begin()
  expect((await ann.list({ status: 'pending_review' })).body.threads).toHaveLength(25)
  expect(turns.most()).toBeLessThanOrEqual(26)
})

it('the history has ended threads only, and those on which a reviewer voted', async () => {
  const [bot, ann, ben] = [await world.agent(), await world.reviewer('ann'), await world.reviewer('ben')]
  const [waiting, mine, theirs, gone] = [
    await paying(bot, 500),
    await paying(bot, 501),
    await paying(bot, 502),
    await paying(bot, 503),
  ]
  await ann.approve(mine)
  await ben.vote(theirs, { decision: 'reject', revision: 1 })
  await bot.withdraw(gone)
  const listed = async (query: Record<string, string>): Promise<string[]> =>
    (await ann.list(query)).body.threads.map(({ thread_id }) => thread_id)
  expect((await listed({ status: 'ended' })).toSorted()).toEqual([mine, theirs, gone].toSorted())
  expect(await listed({ status: 'ended', voted: 'me' })).toEqual([mine])
  expect(await listed({ voted: 'me' })).not.toContain(waiting)
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
