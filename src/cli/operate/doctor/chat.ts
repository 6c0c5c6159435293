import type { Config } from '../../../settings/settings.ts'
import { askSlack } from '../ask-slack.ts'
import { error, type Finding, ok } from './finding.ts'

/** Asks Slack whether the tokens are right. */
export async function lookAtChat(config: Config): Promise<Finding[]> {
  const checked = (await askSlack(config)) ?? []
  return checked.map(({ what, todo }) => (todo === undefined ? ok('chat', what) : error('chat', what, todo)))
}
