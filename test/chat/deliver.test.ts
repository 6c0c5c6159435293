// @store each, in the soak
import { beforeEach, describe, expect, it } from 'vitest'
import { eachWorld, world } from '../agent-world.ts'
import { type Agent, elsewhere, held, type Reviewer } from '../gateway-fixture.ts'
import { Channel, CHAT_BUNDLE, textOf } from './fake-app.ts'

/** Messages of an app of a chat (docs/chat.md): one for each call, drawn when it is sent. */

let bot: Agent
let ben: Reviewer
let channel: Channel

eachWorld({ files: CHAT_BUNDLE })
beforeEach(async () => {
  bot = await world.agent()
  ben = await world.reviewer('ben')
  channel = await Channel.open(world)
})

const PAYMENT = { amount: 5_000, to: 'acme-gmbh' }
const stamps = (): string[] => [...channel.app.messages.keys()]

describe('the message about a call', () => {
  it('is one, is rewritten by each event, and never has a claim of the agent', async () => {
    const claims = { subject: 'PLEASE', preview: 'APPROVE', summary: ['NOW'], workflow_name: 'URGENT' }
    const { thread, task } = await held(bot, { payload: PAYMENT, ...claims })
    await channel.deliver()
    expect(textOf(channel.message())).not.toMatch(/PLEASE|APPROVE|NOW|URGENT/)
    await bot.revise(task, thread, { revision_id: 'r9', request_payload: { amount: 9_000 } })
    await channel.deliver()
    const second = channel.message()
    expect(textOf(second)).toContain('9000')
    await ben.vote(thread, { decision: 'reject', revision: 2, comment: 'SECRET words' })
    await channel.deliver()
    expect(stamps()).toEqual(['1.0'])
    const { heading, acts } = channel.message()
    expect([heading, acts]).toEqual([second.heading, []])
    expect(textOf(channel.message())).toContain('Rejected.')
    expect(textOf(channel.message())).not.toContain('SECRET')
  })

  it('is posted once by two deliveries at once, and has the latest state whatever overtakes what', async () => {
    const { thread, task } = await held(bot, { payload: PAYMENT })
    channel.app.meanwhile = async () => {
      expect(await channel.deliver(elsewhere(world))).toEqual(['later posting'])
      await bot.revise(task, thread, { revision_id: 'r9', request_payload: { amount: 9_000 } })
    }
    await channel.deliver()
    await channel.deliver()
    expect(stamps()).toEqual(['1.0'])
    expect(textOf(channel.message())).toContain('9000')
    channel.app.meanwhile = async () => {
      await ben.approve(thread, 2)
      await channel.deliver(elsewhere(world))
    }
    await bot.revise(task, thread, { revision_id: 'r8', request_payload: { amount: 8_000 } })
    await channel.deliver()
    expect(channel.message().acts).toHaveLength(3)
    expect(textOf(channel.message())).toContain('8000')
  })

  it('is sent only to the channels that ask for such calls, and equal calls share it without Approve', async () => {
    const other = await Channel.open(world, { only: { risks: ['high'], groups: ['leads'], tools: ['pay'] } })
    await held(bot, { payload: PAYMENT }, 'task-1')
    expect(await other.deliver()).toEqual(['success nothing'])
    await channel.deliver()
    expect(channel.message().acts).toContain('approve')
    await held(bot, { payload: PAYMENT }, 'task-1')
    await channel.deliver()
    expect(stamps()).toEqual(['1.0'])
    expect(channel.message()).toMatchObject({
      acts: ['request_changes', 'reject'],
      why: 'Not to approve here: equal calls wait.',
    })
    await held(bot, { payload: { amount: 20_000 } })
    expect((await other.deliver()).at(-1)).toBe('success ok')
    expect(textOf(other.message())).toContain('high risk')
  })
})

describe('an erasure', () => {
  const erase = (thread_id: string) =>
    world.admin('POST', 'erasures', { body: { tenant: 'acme', thread_id, reason: 'asked' } })

  it('takes the call out of the chat, also when the chat was away', async () => {
    const { thread } = await held(bot, { payload: PAYMENT })
    await channel.deliver()
    channel.app.refusal = { kind: 'failed', code: 'away' }
    expect((await erase(thread)).status).toBeLessThan(300)
    expect(await channel.deliver()).toContain('failure away')
    channel.app.refusal = undefined
    expect((await channel.deliver()).at(-1)).toBe('success ok')
    expect(textOf(channel.message())).toBe(
      JSON.stringify([
        [{ text: 'pay', code: true }],
        [[{ text: 'The data of this call was deleted.' }]],
        [],
        undefined,
      ]),
    )
    expect(await channel.click(channel.clickOf('U1', 'approve'))).toMatchObject({ kind: 'refused' })
  })

  it('sends no erased word of a call that the chat had not got yet', async () => {
    const { thread } = await held(bot, { payload: PAYMENT })
    await erase(thread)
    await channel.deliver()
    expect(stamps()).toEqual([])
  })

  it('leaves a record of evidence where a message could not be rewritten', async () => {
    const { thread } = await held(bot, { payload: PAYMENT })
    await channel.deliver()
    await erase(thread)
    channel.app.refusal = { kind: 'gone', code: 'message_not_found' }
    await channel.deliver()
    const last = (await world.evidence()).at(-1)
    expect(last?.record).toMatchObject({
      type: 'webhook.given_up',
      details: { thread_id: thread, result: 'message_not_found' },
    })
  })
})
