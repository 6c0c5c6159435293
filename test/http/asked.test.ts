// @store each, in the soak
import { describe, expect, it } from 'vitest'
import { StoreUnavailable } from '../../src/store/store.ts'
import { ann, bot, eachAgentWorld, world } from '../agent-world.ts'
import { held, HOUR, MINUTE, overriding } from '../gateway-fixture.ts'

/** Whether the agent of a waiting call still asks (docs/review-api.md). */

let isDown = false

eachAgentWorld(() => {
  isDown = false
  return {
    wrapStore: (store) =>
      overriding(store, {
        commit: (tenant, commit) =>
          isDown ? Promise.reject(new StoreUnavailable('down')) : store.commit(tenant, commit),
      }),
  }
})

const at = (ms: number): string => new Date(ms).toISOString()
const stopped = async (): Promise<string[]> =>
  (await ann.list({ asked: 'stopped' })).body.threads.map(({ thread_id }) => thread_id)

describe('GET threads, asked', () => {
  it('200 with the last question and the usual interval, written once a minute', async () => {
    const { thread } = await held(bot)
    const opened = world.clock.now
    expect((await ann.show(thread)).body).toMatchObject({ asked_at: at(opened) })
    expect((await ann.show(thread)).body).not.toHaveProperty('asks_every_ms')
    for (let i = 0; i < 6; i++) {
      world.clock.advance(20_000)
      await bot.poll({ thread_id: thread })
    }
    const { body } = await ann.show(thread)
    expect(body).toMatchObject({ asked_at: at(opened + 2 * MINUTE), asks_every_ms: 20_000 })
    expect((await ann.list({ status: 'pending_review' })).body.threads[0]).toMatchObject({
      asked_at: body.asked_at,
      asks_every_ms: 20_000,
    })
  })

  it('200 with the threads whose agent has stopped, until it asks again', async () => {
    const [{ thread }, other] = [await held(bot), await held(bot)]
    world.clock.advance(10 * MINUTE)
    await bot.poll({ thread_id: other.thread })
    expect(await stopped()).toEqual([])
    world.clock.advance(1)
    expect(await stopped()).toEqual([thread])
    await bot.poll({ thread_id: thread })
    expect(await stopped()).toEqual([])
  })

  it('200 without a question once the call has ended', async () => {
    const { thread } = await held(bot)
    await ann.vote(thread, { decision: 'reject', revision: 1 })
    world.clock.advance(HOUR)
    expect((await ann.show(thread)).body).not.toHaveProperty('asked_at')
    expect(await stopped()).toEqual([])
  })

  it('200 to the agent while the store cannot write the time', async () => {
    const { thread } = await held(bot)
    world.clock.advance(2 * MINUTE)
    isDown = true
    expect((await bot.poll({ thread_id: thread })).body.status).toBe('pending_review')
  })

  it('a question changes neither the revision nor the votes that are bound to it', async () => {
    const { thread } = await held(bot)
    const { body } = await ann.show(thread)
    world.clock.advance(2 * MINUTE)
    await bot.poll({ thread_id: thread })
    expect((await ann.vote(thread, { decision: 'approve', revision: 1 })).body.digest).toBe(body.digest)
  })
})
