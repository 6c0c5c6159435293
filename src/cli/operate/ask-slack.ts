import { REAL_CLOCK, slackTransport } from '../../app/chat.ts'
import type { Config } from '../../settings/settings.ts'

/** Returns the parts that Slack was asked about; undefined without Slack. */
export async function askSlack(config: Config, channels?: readonly string[]) {
  const { slackAppToken: appToken, slackBotToken: botToken } = config
  if (appToken === undefined || botToken === undefined) return undefined
  const { createWebApi } = await import('../../slack/web-api.ts')
  const { checkSlack } = await import('../../slack/check.ts')
  return checkSlack(
    createWebApi({ ...slackTransport(config), clock: REAL_CLOCK }),
    { appToken, botToken },
    channels,
  )
}
