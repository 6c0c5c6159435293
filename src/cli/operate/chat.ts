import { REAL_CLOCK, slackTransport } from '../../app/chat.ts'
import { CHATS } from '../../contract/operations/chats.ts'
import { command } from '../terminal/command.ts'
import { CliFailure, EXIT } from '../terminal/failure.ts'
import { parse } from '../terminal/parse.ts'
import { readSettings } from './read-settings.ts'
import { FLAGS_OF_SERVE } from './serve.ts'

export const CHAT = command({
  name: 'chat',
  says: 'Sets up Slack, in which reviewers decide (docs/chat.md).',
  flags: {
    channel: {
      takes: 'ID',
      many: true,
      says: 'a channel (C...), to which `check` sends a test message; may be repeated',
    },
  },
  subcommands: {
    manifest: { says: 'prints the manifest from which Slack makes the app; needs public_url' },
    check: {
      flags: ['channel'],
      says: 'asks Slack whether tokens and scopes are right. Exits 3 when something is missing',
    },
  },
  settings: FLAGS_OF_SERVE,
})

/** `countersign chat`. */
export async function chat(args: readonly string[]): Promise<void> {
  const { subcommand, settings, values } = parse(CHAT, args)
  const { config } = readSettings({ settings })
  const { checkSlack, manifestOf } = await import('../../slack/check.ts')
  if (subcommand === 'manifest') {
    const { publicUrl } = config
    if (publicUrl === undefined) throw needed('public_url: Slack sends reviewers back to it')
    const redirect = `${new URL(publicUrl).origin}${CHATS.end_chat_link.path}`
    return console.log(JSON.stringify(manifestOf(redirect), null, 2))
  }
  const { slackAppToken: appToken, slackBotToken: botToken } = config
  if (!appToken || !botToken) throw needed('slack_app_token: `countersign chat manifest` prints the app')
  const { createWebApi } = await import('../../slack/web-api.ts')
  const api = createWebApi({ ...slackTransport(config), clock: REAL_CLOCK })
  const checked = await checkSlack(api, { appToken, botToken }, values.channel)
  for (const { what, todo } of checked)
    console.log(todo === undefined ? `ok       ${what}` : `missing  ${what} -> ${todo}`)
  if (checked.some(({ todo }) => todo !== undefined)) process.exitCode = EXIT.doesNotCheck
}

const needed = (what: string): CliFailure => new CliFailure(`set ${what}`, { exit: EXIT.usage })
