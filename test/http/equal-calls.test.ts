// @store each, in the soak
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ThreadSummary } from '../../src/contract/reviewer.ts'
import type { WebhookSecret } from '../../src/contract/webhook.ts'
import { type Agent, held, MINUTE, openWorld, type Reviewer, SECOND, type World } from '../gateway-fixture.ts'
import { until } from '../until.ts'
import { type Receiver, Receivers } from '../webhooks/receiver.ts'

/** Equal calls that wait together. Each is a thread of its own, and reviewers get one notice of them all. */

const receivers = new Receivers()
let world: World
let bot: Agent
let ann: Reviewer
let receiver: Receiver

beforeAll(async () => {
  receiver = await receivers.open()
  world = await openWorld({
    config: { webhooksAllow: `127.0.0.1/32:${receiver.port}` },
    webhooks: { everyMs: 20, deadlineMs: 5_000, ca: receivers.ca },
  })
  bot = await world.agent()
  ann = await world.reviewer('ann')
})
afterAll(async () => {
  await world.close()
  await receivers.dispose()
})

const PROPOSAL = { payload: { amount: 20_000 } }
const MANY = 20

async function waiting(task: string): Promise<ThreadSummary[]> {
  return (await ann.list({ status: 'pending_review', task_id: task, limit: '100' })).body.threads
}

/** The requests that a destination of this format receives during `act`. */
async function toldOf(format: string | undefined, act: () => Promise<unknown>): Promise<string[]> {
  const body = { tenant: 'acme', url: receiver.url, events: ['review.pending', 'review.reminded'] }
  const made = await world.admin<WebhookSecret>('POST', 'webhooks', {
    body: { ...body, ...(format && { format }) },
  })
  expect(made.status).toBe(201)
  const before = receiver.got.length
  await act()
  await until(async () => {
    const { body: view } = await world.admin<{ waiting: number }>('GET', `webhooks/${made.body.id}`)
    return view.waiting === 0
  })
  await world.admin('DELETE', `webhooks/${made.body.id}`)
  return receiver.got.slice(before).map(({ raw }) => raw)
}

const many = (task: string): Promise<unknown> =>
  Promise.all(Array.from({ length: MANY }, () => held(bot, PROPOSAL, task)))

describe('equal calls of one agent, task and tool', () => {
  it.each(['chat', 'teams'])(
    'equal calls get a thread each and one chat message (%s), even when they race',
    async (format) => {
      const task = `race-${format}`
      expect(await toldOf(format, () => many(task))).toHaveLength(1)
      const threads = await waiting(task)
      expect(new Set(threads.map(({ thread_id }) => thread_id)).size).toBe(MANY)
      const [tag, ...more] = new Set(threads.map(({ equal }) => equal))
      expect([tag, more]).toEqual([expect.stringMatching(/^[\w-]{22}$/), []])
    },
  )

  it('equal calls are each sent to a destination for programs', async () => {
    expect(await toldOf(undefined, () => many('programs'))).toHaveLength(MANY)
  })

  it('calls differ by agent, task, tool, payload or subject, and are then each announced', async () => {
    const other = await world.agent('other')
    const told = await toldOf('chat', async () => {
      await held(bot, PROPOSAL, 'a')
      await held(bot, PROPOSAL, 'b')
      await held(other, PROPOSAL, 'a')
      await held(bot, { payload: { amount: 20_001 } }, 'a')
      await held(bot, { tool_name: 'hold', ...PROPOSAL }, 'a')
      await held(bot, { ...PROPOSAL, subject: 'Other words' }, 'a')
    })
    expect(told).toHaveLength(6)
    const threads = [...(await waiting('a')), ...(await waiting('b'))]
    expect(new Set(threads.map(({ equal }) => equal)).size).toBe(6)
  })

  it('equal calls are announced again after the first is decided or revised; a revision is announced alone', async () => {
    for (const end of ['decided', 'revised'] as const) {
      const task = `again-${end}`
      const told = await toldOf('chat', async () => {
        const first = await held(bot, PROPOSAL, task)
        const second = await held(bot, PROPOSAL, task)
        if (end === 'decided') await ann.vote(first.thread, { decision: 'reject', revision: 1 })
        else await bot.revise(task, first.thread, { revision_id: 'r2', request_payload: { amount: 20_002 } })
        const third = await held(bot, PROPOSAL, task)
        await held(bot, PROPOSAL, task)
        const { body } = await ann.show(second.thread)
        expect([body.status, third.thread]).toEqual(['pending_review', expect.stringMatching(/^thr_/)])
      })
      expect([end, told.length]).toEqual([end, end === 'decided' ? 2 : 3])
    }
  })

  it('equal calls share one reminder, made for the oldest that still waits', async () => {
    const task = 'reminders'
    const [first] = [await held(bot, PROPOSAL, task)]
    world.clock.advance(SECOND)
    const second = await held(bot, PROPOSAL, task)
    world.clock.advance(SECOND)
    await held(bot, PROPOSAL, task)
    await ann.vote(first.thread, { decision: 'reject', revision: 1 })
    const told = await toldOf('chat', async () => {
      world.clock.advance(16 * MINUTE)
      await world.due()
    })
    const own = told.filter((text) => text.includes('`reminders`'))
    expect(own).toHaveLength(1)
    expect(own[0]).toContain(second.thread)
  })

  it('reveal nothing about their payload, and have no mark after a decision or revision', async () => {
    const { thread, payload } = await held(bot, PROPOSAL, 'marks')
    const [summary] = await waiting('marks')
    const { body } = await ann.show(thread)
    expect(JSON.stringify(body.revisions[0]?.payload_digest)).not.toContain(summary?.equal ?? '')
    expect(payload).toEqual(PROPOSAL.payload)
    await ann.vote(thread, { decision: 'reject', revision: 1 })
    const { threads } = (await ann.list({ task_id: 'marks' })).body
    expect(threads.map(({ equal }) => equal)).toEqual([undefined])
    expect(await world.app.deps.store.range('acme', 'task/bot/marks', { limit: 9 })).toHaveLength(1)
  })
})
