import { tmpdir } from 'node:os'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type FakeSlack, SLACK, startFakeSlack } from '../chat/fake-slack.ts'
import { type CliRun, runCli } from './run.ts'

let slack: FakeSlack
beforeEach(async () => {
  slack = await startFakeSlack()
})
afterEach(() => slack.close())

const chat = (...args: string[]): Promise<CliRun> =>
  runCli(['chat', ...args], {
    cwd: tmpdir(),
    env: {
      COUNTERSIGN_SLACK_APP_TOKEN: SLACK.appToken,
      COUNTERSIGN_SLACK_BOT_TOKEN: SLACK.botToken,
      COUNTERSIGN_SLACK_CLIENT_ID: '1.2',
      COUNTERSIGN_SLACK_CLIENT_SECRET: 'secret',
      COUNTERSIGN_SLACK_SERVER: slack.url,
    },
  })

it('manifest prints an app with Socket Mode, buttons, two scopes and the way back of a link', async () => {
  const { code, out } = await chat('manifest', '--public-url', 'https://gate.example')
  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({
    oauth_config: {
      redirect_urls: ['https://gate.example/api/review/chats/callback'],
      scopes: { bot: ['chat:write', 'users:read'] },
    },
    settings: { socket_mode_enabled: true, interactivity: { is_enabled: true } },
  })
  expect(await chat('manifest')).toMatchObject({ code: 2, err: expect.stringContaining('set public_url') })
})

it('check finds nothing missing, and writes to the channel', async () => {
  const { code, out } = await chat('check', '--channel', SLACK.channel)
  expect(out).toContain(`ok       the app may write to ${SLACK.channel}`)
  expect([code, slack.messages.size]).toEqual([0, 1])
})

it('check says what to do about scopes, Socket Mode and the channel', async () => {
  slack.scopes.list = ['chat:write']
  slack.disable()
  const { code, out } = await chat('check', '--channel', 'C0OTHER001')
  expect(code).toBe(3)
  expect(out.split('\n').filter((line) => line.startsWith('missing'))).toEqual([
    'missing  the bot has no users:read -> add the scope, and install the app again',
    'missing  the app token: Slack answers not_allowed_token_type -> switch on Socket Mode, and make an app token with connections:write',
    'missing  C0OTHER001: Slack answers channel_not_found -> write the id of the channel (C...), and invite the app: /invite @Countersign',
  ])
})
