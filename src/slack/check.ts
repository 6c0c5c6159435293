import { answerOf } from './blocks.ts'
import type { WebApi } from './web-api.ts'

/** The parts that an administrator sets up in Slack (docs/chat.md). */

const SCOPES = ['chat:write', 'users:read']

/** The manifest from which Slack makes the app. `redirect` receives the answer when a reviewer links an account. */
export const manifestOf = (redirect: string): object => ({
  display_information: {
    name: 'Countersign',
    description: 'Held calls of AI agents, for their reviewers',
  },
  features: { bot_user: { display_name: 'Countersign', always_online: true } },
  oauth_config: { redirect_urls: [redirect], scopes: { bot: SCOPES } },
  settings: {
    interactivity: { is_enabled: true },
    org_deploy_enabled: false,
    socket_mode_enabled: true,
    token_rotation_enabled: false,
  },
})

/** A part that was checked; `todo` is absent when it is right. */
export interface Checked {
  readonly what: string
  readonly todo?: string
}

/** Asks Slack what is missing. Each of the channels receives a message. */
export async function checkSlack(
  api: WebApi,
  { appToken, botToken }: { readonly appToken: string; readonly botToken: string },
  channels: readonly string[] = [],
): Promise<Checked[]> {
  const bot = await api.call(botToken, 'auth.test')
  if (!bot.ok) return [wrong('the bot token', bot.code), await checkSocket(api, appToken)]
  const missing = SCOPES.filter((scope) => !bot.scopes.includes(scope))
  return [
    { what: `the bot token belongs to ${String(bot.body['team'] ?? bot.body['team_id'])}` },
    missing.length === 0
      ? { what: `the bot has ${SCOPES.join(' and ')}` }
      : { what: `the bot has no ${missing.join(' and ')}`, todo: 'add the scope, and install the app again' },
    await checkSocket(api, appToken),
    ...(await Promise.all(channels.map((channel) => checkChannel(api, botToken, channel)))),
  ]
}

const REMEDIES: Readonly<Record<string, string>> = {
  invalid_auth: 'copy the token again',
  token_revoked: 'install the app again, and copy the token',
  account_inactive: 'install the app again, and copy the token',
  missing_scope: 'make an app token with connections:write',
  not_allowed_token_type: 'switch on Socket Mode, and make an app token with connections:write',
  not_in_channel: 'invite the app: /invite @Countersign',
  channel_not_found: 'write the id of the channel (C...), and invite the app: /invite @Countersign',
  is_archived: 'name another channel',
}

const wrong = (what: string, code: string): Checked => ({
  what: `${what}: Slack answers ${code}`,
  todo: REMEDIES[code] ?? 'the gateway must reach Slack by HTTPS, without a proxy',
})

async function checkSocket(api: WebApi, token: string): Promise<Checked> {
  const opened = await api.call(token, 'apps.connections.open')
  return opened.ok ? { what: 'the app may connect (Socket Mode)' } : wrong('the app token', opened.code)
}

async function checkChannel(api: WebApi, token: string, channel: string): Promise<Checked> {
  const test = answerOf({ text: 'Countersign can write here. This was a test.' })
  const sent = await api.call(token, 'chat.postMessage', { channel, ...test })
  return sent.ok ? { what: `the app may write to ${channel}` } : wrong(channel, sent.code)
}
