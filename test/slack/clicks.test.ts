import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { ChatAnswer, ChatClick } from '../../src/domain/chat.ts'
import { type FakeSlack, SLACK, startFakeSlack } from '../chat/fake-slack.ts'
import { call } from '../chat/messages.ts'
import { COUNTED, opened, type Opened } from './opened.ts'

let slack: FakeSlack
let gateway: Opened
const { signal } = new AbortController()

beforeEach(async () => {
  slack = await startFakeSlack()
})
afterEach(async () => {
  await gateway.app.close()
  await slack.close()
})

async function open(onClick?: (click: ChatClick) => Promise<ChatAnswer>): Promise<void> {
  gateway = opened(slack, onClick)
  await slack.until(() => slack.sockets.size === 1)
  await gateway.app.send({ channel: SLACK.channel }, call(), signal)
}
const answers = (): string[] => slack.ephemerals.map(({ blocks }) => JSON.stringify(blocks))
const counted = (results: readonly string[]): Promise<void> =>
  vi.waitFor(() => expect(gateway.results).toEqual(results))
const answered = (number = 1): Promise<void> => slack.until(() => slack.ephemerals.length >= number)

it('a click is stored, then acknowledged, then answered to the person who clicked', async () => {
  const order: string[] = []
  let store: () => void = () => undefined
  await open(async () => {
    await new Promise<void>((resolve) => (store = resolve))
    order.push('stored')
    return COUNTED
  })
  const { id, acknowledged } = slack.click()
  void acknowledged.then(() => order.push('acknowledged'))
  while (gateway.clicks.length === 0) await new Promise((resolve) => setImmediate(resolve))
  store()
  await answered()
  expect(await acknowledged).toEqual({})
  expect(order).toEqual(['stored', 'acknowledged'])
  const [message] = [...slack.messages.values()]
  expect(gateway.clicks).toMatchObject([
    {
      envelope: id,
      workspace: SLACK.workspace,
      member: SLACK.member,
      channel: SLACK.channel,
      stamp: message?.ts,
      message: 'message-1',
      act: 'approve',
    },
  ])
  expect(slack.ephemerals).toMatchObject([{ channel: SLACK.channel, user: SLACK.member }])
  expect(answers()[0]).toContain(COUNTED.text)
  await counted(['counted'])
})

it.each([
  ['of another app', { app: 'A0OTHER001' }],
  ['of another workspace', { workspace: 'T0OTHER001' }],
  ["on another app's message with our buttons", { bot: 'B0OTHER001' }],
  ['with an act that no message offers', { act: 'approve_all' }],
])('an envelope %s is refused, and reaches no verb', async (_, forged) => {
  await open()
  await slack.click(forged).acknowledged
  expect([gateway.clicks, gateway.results]).toEqual([[], ['foreign']])
})

it('a member of a shared channel keeps the workspace that Slack names', async () => {
  await open(() => Promise.resolve({ kind: 'refused', text: 'You are a member of another workspace.' }))
  slack.click({ memberWorkspace: 'T0OTHER001' })
  await answered()
  expect(gateway.clicks).toMatchObject([{ workspace: 'T0OTHER001' }])
  await counted(['refused'])
})

it('a button that only opens the call is acknowledged, and is no click', async () => {
  await open()
  expect(await slack.click({ act: 'look' }).acknowledged).toEqual({})
  expect([gateway.clicks, gateway.results]).toEqual([[], []])
})

it('a click that the store refused has no acknowledgement, and its person hears that it is not known', async () => {
  await open(() => Promise.reject(new Error('store')))
  const { acknowledged } = slack.click()
  await answered()
  expect(answers()[0]).toContain('It is not known whether your click counted')
  await counted(['unknown'])
  slack.kill()
  expect(await acknowledged).toBeUndefined()
})

it('the socket dies between commit and acknowledgement: the person is answered, and a repeat is the same envelope', async () => {
  await open(() => {
    slack.kill()
    return Promise.resolve(COUNTED)
  })
  const { id, acknowledged } = slack.click({ envelope: 'e-twice' })
  expect(await acknowledged).toBeUndefined()
  await answered()
  await slack.until(() => slack.sockets.size === 1)
  slack.click({ envelope: id })
  await answered(2)
  expect(gateway.clicks.map(({ envelope }) => envelope)).toEqual(['e-twice', 'e-twice'])
})

it('a rejection asks for its comment in a dialog, whose end is a click of its own', async () => {
  const long =
    'The recipient is not in the list of suppliers; ask the purchasing team to add it before you try again.'
  await open(({ comment, message, act }) =>
    Promise.resolve(
      comment === undefined
        ? {
            kind: 'ask',
            text: 'Say why.',
            ask: { message, act, heading: call().heading, offered: ['Too much', long], required: true },
          }
        : { kind: 'counted', text: `Your vote counted: ${act}.` },
    ),
  )
  await slack.click({ act: 'reject' }).acknowledged
  await slack.until(() => slack.views.length === 1)
  expect(JSON.stringify(slack.views)).toContain(long)
  const done = await slack.submit({ typed: 'see ticket 4', chosen: 1 }).acknowledged
  expect(JSON.stringify(done)).toContain('Your vote counted: reject.')
  expect(gateway.clicks[1]).toMatchObject({
    message: 'message-1',
    act: 'reject',
    channel: SLACK.channel,
    comment: `${long} see ticket 4`,
  })
  expect(gateway.clicks[1]).not.toHaveProperty('stamp')
  await counted(['ask', 'counted'])
  await slack.submit({ app: 'A0OTHER001' }).acknowledged
  expect(gateway.clicks).toHaveLength(2)
})

it('a person who cannot be answered in the channel is answered in a dialog; else the failure is counted', async () => {
  await open()
  slack.fail('chat.postEphemeral', { error: 'user_not_in_channel' })
  slack.click()
  await slack.until(() => slack.views.length === 1)
  expect(JSON.stringify(slack.views)).toContain(COUNTED.text)
  slack.fail('chat.postEphemeral', { status: 500 })
  slack.click({ trigger: 'old' })
  await slack.until(() => slack.sent.filter(({ method }) => method === 'views.open').length === 2)
  await gateway.app.close()
  expect(gateway.results).toEqual(['counted', 'counted', 'unanswered'])
})
