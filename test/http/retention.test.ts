// @store each
import { afterEach, describe, expect, it } from 'vitest'
import { INDEX } from '../../src/gateway/core/indexes.ts'
import type { ThreadList } from '../../src/contract/reviewer.ts'
import {
  type Agent,
  approved,
  edited,
  held,
  HOUR,
  MINUTE,
  openWorld,
  type Reviewer,
  type World,
} from '../gateway-fixture.ts'

/** Threads and disclosures are deleted at the end of their retention (docs/data.md). */

const DAY = 24 * HOUR
const SHORT = edited('routing.yaml', 'unmatched: reject', 'retention: { threads: 10d }\nunmatched: reject')

let world: World
let bot: Agent
let ann: Reviewer
afterEach(() => world.close())

async function open(files = SHORT): Promise<void> {
  world = await openWorld({ files })
  bot = await world.agent()
  ann = await world.reviewer('ann')
}

const later = async (days: number): Promise<void> => {
  world.clock.advance(days * DAY)
  await world.due()
}
const reject = async (thread: string, revision = 1): Promise<void> => {
  expect((await ann.vote(thread, { decision: 'reject', revision })).status).toBe(200)
}
const statusOf = async (thread: string): Promise<number> => (await ann.show(thread)).status
const history = async (): Promise<ThreadList> =>
  (await ann.call<ThreadList>('GET', 'threads?status=rejected')).body

describe('a thread that ended', () => {
  it('is deleted for everyone after its retention, with its revisions, comments and index entries', async () => {
    await open()
    const { thread, task } = await held(bot)
    await ann.call('POST', `threads/${thread}/comments`, { body: { comment: 'Hm.' } })
    await bot.revise(task, thread, { revision_id: 'r2', request_payload: { amount: 600 } })
    await reject(thread, 2)
    await later(9.9)
    expect(await statusOf(thread)).toBe(200)
    expect((await history()).complete_since).toBeUndefined()
    await later(0.2)
    expect([await statusOf(thread), (await bot.poll({ thread_id: thread })).status]).toEqual([404, 404])
    expect((await history()).threads).toEqual([])
    expect((await history()).complete_since).toBe('2026-03-02T12:00:00.000Z')
    const { store } = world.app.deps
    for (const type of ['thread', 'comments']) expect(await store.get('acme', type, thread)).toBeUndefined()
    for (const number of [1, 2])
      expect(await store.get('acme', 'revision', `${thread}/${number}`)).toBeUndefined()
    for (const index of [
      INDEX.threads,
      INDEX.task('bot', task),
      INDEX.status('rejected'),
      INDEX.evidence(thread),
    ])
      expect(await store.count('acme', index)).toBe(0)
    // evidence stays
    const types = (await world.allEvidence()).map(({ record }) => record.type)
    expect(types).toEqual(expect.arrayContaining(['review.pending', 'review.revised', 'review.rejected']))
  })

  it('is kept while it waits, while its proof is valid, and for 30 days by default', async () => {
    await open({})
    const done = await approved(bot, ann)
    await bot.validate({ approval_token: done.token, tool_name: 'pay', payload: done.payload })
    await later(29)
    const { thread } = await held(bot)
    await later(2)
    expect([await statusOf(done.thread), await statusOf(thread)]).toEqual([404, 200])
  })

  it('gives its task and its idempotency key to new calls', async () => {
    await open()
    const { thread, task } = await held(bot)
    await reject(thread)
    await later(11)
    const again = await held(bot, {}, task)
    expect(again.thread).not.toBe(thread)
    expect((await bot.poll({ task_id: task })).body).toMatchObject({ thread_id: again.thread })
  })

  it('is deleted in small steps when there are many, and an expired one later', async () => {
    await open()
    const threads: string[] = []
    for (let i = 0; i < 25; i++) threads.push((await held(bot)).thread)
    for (const thread of threads.slice(1)) await bot.withdraw(thread)
    await later(1)
    await later(9.5)
    expect(await world.app.deps.store.count('acme', INDEX.threads)).toBe(1)
    await later(1)
    expect(await world.app.deps.store.count('acme', INDEX.threads)).toBe(0)
  })
})

describe('disclosures', () => {
  const given = async (): Promise<number[]> =>
    (await world.allEvidence()).flatMap(({ number, disclosures }) => (disclosures ? [number] : []))
  const expired = async (): Promise<unknown[]> =>
    (await world.allEvidence()).flatMap(({ record }) =>
      record.type === 'disclosures.expired' ? [record.details] : [],
    )

  it('are deleted 90 days after their record, and a record of evidence says so once a day', async () => {
    await open({})
    const { thread } = await held(bot)
    await reject(thread)
    await bot.submit('a', { tool_name: 'pay', payload: { amount: 5 } })
    const before = await given()
    expect(before.length).toBe(2)
    await later(50)
    await bot.submit('b', { tool_name: 'pay', payload: { amount: 5 } })
    const last = (await world.allEvidence()).length
    await later(39.9)
    expect(await given()).toEqual([...before, last])
    await later(1.2)
    expect(await given()).toEqual([last])
    expect(await expired()).toEqual([{ up_to: last - 1 }])
    await later(0.5)
    expect((await expired()).length).toBe(1)
    await later(50)
    expect(await given()).toEqual([])
    expect(await expired()).toEqual([{ up_to: last - 1 }, { up_to: last }])
  })

  it('under a legal hold stay until it ends', async () => {
    await open({})
    const { thread, task } = await held(bot)
    await reject(thread)
    await bot.submit('other', { tool_name: 'pay', payload: { amount: 5 } })
    const all = await given()
    const hold = { tenant: 'acme', task_id: task, reason: 'case 17' }
    await world.admin('POST', 'legal-holds', { body: hold })
    await later(91)
    const left = await given()
    expect(left.length).toBeGreaterThan(0)
    expect(left).not.toContain(all.at(-1))
    await world.admin('POST', 'legal-holds/remove', { body: { ...hold, reason: 'over' } })
    await world.due()
    expect((await given()).filter((number) => all.includes(number))).toEqual([])
  })

  it('under a legal hold of the agent stay, also those of reviewers when the thread is gone', async () => {
    await open()
    const { thread } = await held(bot)
    await ann.call('POST', `threads/${thread}/comments`, { body: { comment: 'Hm.' } })
    await reject(thread)
    await later(11)
    expect(await statusOf(thread)).toBe(404)
    const all = await given()
    const hold = { tenant: 'acme', agent: 'bot', reason: 'case 17' }
    expect((await world.admin('POST', 'legal-holds', { body: hold })).status).toBeLessThan(300)
    await later(91)
    expect((await given()).filter((number) => all.includes(number))).toEqual(all)
    await world.admin('POST', 'legal-holds/remove', { body: { ...hold, reason: 'over' } })
    await later(1.1)
    expect((await given()).filter((number) => all.includes(number))).toEqual([])
  })

  it('are deleted in small steps, which another process continues', async () => {
    await open({})
    for (let i = 0; i < 450; i++) await bot.submit('a', { tool_name: 'pay', payload: { amount: 5 } })
    const all = (await given()).length
    world.clock.advance(91 * DAY)
    await world.due()
    const left = (await given()).length
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThan(all)
    await world.restart()
    for (let i = 0; i < 3; i++) {
      world.clock.advance(MINUTE)
      await world.due()
    }
    expect(await given()).toEqual([])
    expect((await expired()).length).toBe(1)
  })
})

describe('the history of a task, without tiles', () => {
  it('ends after its retention, once the disclosures of its last record are deleted', async () => {
    const retention = 'retention: { threads: 10d, disclosures: 20d, tasks: 31d }\nunmatched: reject'
    await open(edited('routing.yaml', 'unmatched: reject', retention))
    const task = 'month-end'
    await bot.submit(task, { tool_name: 'pay', payload: { amount: 5 } })
    await bot.submit(task, { tool_name: 'unknown', payload: {} })
    const left = async (): Promise<number[]> => {
      const indexes = [INDEX.taskHistory('bot', task), INDEX.rejected('bot', task)]
      return Promise.all(indexes.map((index) => world.app.deps.store.count('acme', index)))
    }
    const [used = 0] = await left()
    expect(await left()).toEqual([used, 1])
    expect(used).toBeGreaterThan(0)
    await later(15)
    await bot.submit(task, { tool_name: 'pay', payload: { amount: 5 } })
    for (let i = 0; i < 3; i++) await later(9)
    // the first call is over, the last one is not
    expect(await left()).toEqual([used, 0])
    for (let i = 0; i < 3; i++) await later(9)
    expect(await left()).toEqual([0, 0])
  })
})
