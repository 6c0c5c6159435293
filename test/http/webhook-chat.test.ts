// @store each, in the soak
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WebhookSecret, WebhookView } from '../../src/contract/webhook.ts'
import type { CardMessage } from '../../src/events/chat.ts'
import { type Agent, type Answer, held, HOUR, MINUTE, openWorld, type World } from '../gateway-fixture.ts'
import { until } from '../until.ts'
import { type Receiver, Receivers } from '../webhooks/receiver.ts'

/** Destinations that are chats notify reviewers in the chats that they already use (docs/decisions/0024). */

const receivers = new Receivers()
const PUBLIC = 'https://countersign.example'
let world: World
let bot: Agent
let receiver: Receiver

beforeAll(async () => {
  receiver = await receivers.open()
  world = await openWorld({
    config: { webhooksAllow: `127.0.0.1/32:${receiver.port}`, publicUrl: PUBLIC },
    webhooks: { everyMs: 20, deadlineMs: 5_000, ca: receivers.ca },
  })
  bot = await world.agent()
})
afterAll(async () => {
  await world.close()
  await receivers.dispose()
})

const create = (body: object): Promise<Answer<WebhookSecret>> =>
  world.admin('POST', 'webhooks', { body: { tenant: 'acme', format: 'chat', ...body } })
const show = async (id: string): Promise<WebhookView> =>
  (await world.admin<WebhookView>('GET', `webhooks/${id}`)).body
/** Nothing is under way: a clock that jumps over a lease makes a try come twice. */
const settled = ({ id }: WebhookSecret): Promise<void> => until(async () => (await show(id)).waiting === 0)

describe('a destination that is a chat', () => {
  it('gets a line with a link for each waiting and each escalated call', async () => {
    const { status, body: hook } = await create({ url: `${receiver.url}/T0/B0/very-secret-1234` })
    expect(status).toBe(201)
    const message = 'Look at <https://evil.example|this> @all'
    const claims = { subject: message, task_label: message, workflow_name: message }
    await bot.submit('at-once', { tool_name: 't', payload: {} })
    const { thread } = await held(bot, { payload: { amount: 20_000 }, ...claims }, 'case-7')
    await settled(hook)
    for (const _ of ['reminder', 'escalation']) {
      world.clock.advance(15 * MINUTE)
      await world.due()
      await settled(hook)
    }
    const about = `(risk high, agent \`bot\`, task \`case-7\`, tenant \`acme\`)\n${PUBLIC}/console/#/thread/${thread}`
    expect(receiver.got.map(({ raw }) => JSON.parse(raw) as unknown)).toEqual([
      { text: `\`pay\`: amount \`20000\` waits for \`leads\` ${about}` },
      { text: `\`pay\`: amount \`20000\` still waits for \`leads\` ${about}` },
      { text: `\`pay\`: amount \`20000\` still waits, now for \`leads\`, \`board\` ${about}` },
    ])
    expect(receiver.got[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': expect.stringMatching(/^whd_acme_/) as string,
    })
    await world.admin('DELETE', `webhooks/${hook.id}`)
  })

  it('gets a card when it is Microsoft Teams', async () => {
    const { body: hook } = await create({ url: receiver.url, format: 'teams' })
    const before = receiver.got.length
    const { thread } = await held(bot, { payload: { amount: 500 } }, 'case-8')
    await settled(hook)
    const [card] = receiver.got.slice(before).map(({ raw }) => JSON.parse(raw) as CardMessage)
    const { body = [], actions } = card?.attachments[0]?.content ?? {}
    expect(body[0]?.inlines.map(({ text }) => text).join('')).toBe(
      'pay: amount 500 waits for desk (risk low, agent bot, task case-8, tenant acme)',
    )
    expect(actions).toEqual([
      { type: 'Action.OpenUrl', title: 'Look at it', url: `${PUBLIC}/console/#/thread/${thread}` },
    ])
    expect(await show(hook.id)).toMatchObject({
      format: 'teams',
      url: expect.stringContaining('/...') as string,
    })
    await world.admin('DELETE', `webhooks/${hook.id}`)
  })

  it('hides its URL from every reader, because anyone who knows it can write there', async () => {
    const { body: hook } = await create({ url: `${receiver.url}/T0/B0/very-secret-1234` })
    const shown = `https://127.0.0.1:${receiver.port}/...1234`
    expect(await show(hook.id)).toMatchObject({
      url: shown,
      format: 'chat',
      payload: 'thin',
      events: [
        'review.pending',
        'review.reminded',
        'review.escalated',
        'review.approved',
        'review.rejected',
        'review.changes_requested',
        'review.expired',
        'review.withdrawn',
      ],
    })
    const records = await world.allEvidence()
    const created = records.filter(({ record }) => record.type === 'webhook.created')
    expect(created.at(-1)?.record.details).toEqual({
      id: hook.id,
      url: shown,
      payload: 'thin',
      format: 'chat',
    })
    expect(JSON.stringify(records)).not.toContain('very-secret')
    await world.admin('DELETE', `webhooks/${hook.id}`)
  })

  it('hears how each call ended, and who decided', async () => {
    const { body: hook } = await create({ url: receiver.url })
    const lines = async (task: string): Promise<string> => {
      await settled(hook)
      return receiver.got
        .map(({ raw }) => raw)
        .filter((raw) => raw.includes(`task \`${task}\``))
        .join('')
    }
    const { thread } = await held(bot, {}, 'collected-never')
    await (await world.reviewer('ann')).approve(thread)
    expect(await lines('collected-never')).toContain(' was approved by `ann` (')
    await bot.withdraw((await held(bot, {}, 'withdrawn')).thread)
    expect(await lines('withdrawn')).toContain(' was withdrawn by its agent (')
    await held(bot, {}, 'expired')
    await settled(hook)
    world.clock.advance(9 * HOUR)
    await world.due()
    expect(await lines('expired')).toContain(' has expired (')
    expect(await lines('collected-never')).toContain(
      ' was approved by `ann`, but its agent did not collect the approval in time (',
    )
    await world.admin('DELETE', `webhooks/${hook.id}`)
  })

  it('gets only events that it asks for, and a ping in words', async () => {
    const { body: hook } = await create({ url: receiver.url, events: ['decision.rejected'] })
    const before = receiver.got.length
    await bot.submit('nobody-knows', { tool_name: '<!channel> `rm`', payload: {} })
    await until(() => receiver.got.length === before + 1)
    await world.admin('POST', `webhooks/${hook.id}/ping`)
    await until(() => receiver.got.length === before + 2)
    const [rejected, ping] = receiver.got.slice(before).map(({ raw }) => raw)
    expect(rejected).toContain('`??channel???rm?` was rejected by policy')
    expect(rejected).not.toContain('console')
    expect(ping).toBe('{"text":"A test: this chat receives the calls of tenant `acme`."}')
    await world.admin('DELETE', `webhooks/${hook.id}`)
  })

  it.each(['chat', 'teams'])('400 with payload, and nothing is registered (%s)', async (format) => {
    const { status, problem } = await create({ url: receiver.url, payload: 'full', format })
    expect([status, problem.code, problem.errors]).toEqual([
      400,
      'invalid_request',
      [{ pointer: '/payload', message: 'no payload is sent to a chat' }],
    ])
    expect((await world.admin<object>('GET', 'webhooks?tenant=acme')).body).toEqual({ webhooks: [] })
  })

  it('is named by its format: any other format is 400', async () => {
    expect((await create({ url: receiver.url, format: 'slack' })).status).toBe(400)
    const { body: hook } = await create({ url: receiver.url, format: 'event' })
    expect(await show(hook.id)).toMatchObject({ url: receiver.url, format: 'event' })
    await world.admin('DELETE', `webhooks/${hook.id}`)
  })
})
