import { SocketModeClient } from '@slack/socket-mode'
import { LogLevel, WebClient } from '@slack/web-api'
import { afterEach, expect, it } from 'vitest'
import { type FakeSlack, SLACK, startFakeSlack } from './fake-slack.ts'
import { messageOf } from '../../src/slack/blocks.ts'
import { call } from './messages.ts'

/* Slack's own clients judge the fake server to which other tests connect the gateway. */

let slack: FakeSlack
let stop: (() => Promise<void>) | undefined
afterEach(async () => {
  await stop?.()
  await slack.close()
})

const quiet = { logLevel: LogLevel.ERROR, retryConfig: { retries: 0 } }
const webOf = (): WebClient => new WebClient(SLACK.botToken, { slackApiUrl: `${slack.url}/api/`, ...quiet })

it("Slack's Web API client posts, rewrites, and reads members, limits and errors", async () => {
  slack = await startFakeSlack()
  const web = webOf()
  const { team_id: team, response_metadata: meta } = await web.auth.test()
  expect([team, meta?.scopes]).toEqual([SLACK.workspace, ['chat:write', 'users:read']])
  const args = { channel: SLACK.channel, ...messageOf(call()) } as never
  const { ts = '' } = await web.chat.postMessage(args)
  await web.chat.update({ channel: SLACK.channel, ts, text: 'over', blocks: [] })
  expect(slack.shown(ts)).toMatchObject({ text: 'over' })
  expect((await web.users.info({ user: SLACK.member })).user).toMatchObject({ is_bot: false })
  await expect(web.users.info({ user: 'U1' })).rejects.toMatchObject({ data: { error: 'user_not_found' } })
  const long = Array.from({ length: 51 }, () => ({
    type: 'section',
    text: { type: 'plain_text', text: 'x' },
  }))
  await expect(
    web.chat.postMessage({ channel: SLACK.channel, text: 'x', blocks: long as never }),
  ).rejects.toMatchObject({ data: { error: 'invalid_blocks' } })
  slack.fail('chat.postMessage', { status: 429, after: 7 })
  const limited = new WebClient(SLACK.botToken, {
    slackApiUrl: `${slack.url}/api/`,
    ...quiet,
    rejectRateLimitedCalls: true,
  })
  await expect(limited.chat.postMessage(args)).rejects.toMatchObject({ retryAfter: 7 })
})

it("Slack's Socket Mode client connects, receives clicks, acknowledges, and connects again", async () => {
  slack = await startFakeSlack()
  const socket = new SocketModeClient({
    appToken: SLACK.appToken,
    logLevel: LogLevel.ERROR,
    clientOptions: { slackApiUrl: `${slack.url}/api/` },
  })
  stop = () => socket.disconnect()
  const bodies: unknown[] = []
  socket.on('interactive', (event: { body: unknown; ack: (answer?: object) => Promise<void> }) => {
    bodies.push(event.body)
    void event.ack({ response_action: 'clear' })
  })
  await socket.start()
  const { id, acknowledged } = slack.click({ value: 'm1' })
  expect(await acknowledged).toEqual({ response_action: 'clear' })
  expect(bodies).toMatchObject([{ type: 'block_actions', actions: [{ value: 'm1' }] }])
  expect(id).toMatch(/^e-/)
  const opened = (): number => slack.sent.filter(({ method }) => method === 'apps.connections.open').length
  const again = new Promise((resolve) => socket.once('connected', resolve))
  slack.disconnect('refresh_requested')
  await again
  expect(opened()).toBe(2)
})
