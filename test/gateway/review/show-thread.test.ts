// @store each, in the soak
import { expect, it } from 'vitest'
import { LIMITS } from '../../../src/contract/limits.ts'
import { eachWorld, world } from '../../agent-world.ts'
import { held, overriding } from '../../gateway-fixture.ts'
import { countTurns } from '../../turns.ts'

const turns = countTurns()
const recordTurns = countTurns()
const MANY = 100

eachWorld({
  wrapStore: (store) =>
    overriding(store, {
      get: (tenant, type, id) => {
        if (type === 'revision') turns.count()
        return store.get(tenant, type, id)
      },
      events: (tenant, after, limit) => {
        // excludes the signer of evidence, which reads many records at once
        if (limit < MANY) for (let i = 0; i < limit; i++) recordTurns.count()
        return store.events(tenant, after, limit)
      },
    }),
})

it('shows all revisions of a long thread, and reads a few at a time: each may contain a whole request', async () => {
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
  // two at a time, and the current one once more to ask policy about it
  expect(turns.most()).toBeLessThanOrEqual(3)
})

it('shows all evidence of a thread, and reads little per turn: other records may be large', async () => {
  const [bot, ann] = [await world.agent(), await world.reviewer('ann')]
  const { thread } = await held(bot)
  const numbers: (number | undefined)[] = []
  for (let i = 0; i < 45; i++) {
    await bot.submit(`other-${i}`, { tool_name: 't' })
    const body = { comment: `comment ${i}` }
    expect((await ann.call('POST', `threads/${thread}/comments`, { body })).status).toBe(201)
    numbers.push((await ann.show(thread)).body.evidence.at(-1)?.number)
  }
  recordTurns.begin()
  const { evidence } = (await ann.show(thread)).body
  expect(evidence.slice(1).map(({ number }) => number)).toEqual(numbers)
  expect(evidence.slice(1).every(({ type }) => type === 'thread.commented')).toBe(true)
  expect(recordTurns.most()).toBeLessThanOrEqual(20)
})
