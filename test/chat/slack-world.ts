import { hashCredential } from '../../src/domain/credential.ts'
import { proposeLink } from '../../src/gateway/chat/link.ts'
import { openWorld, type SignedIn, type World, type WorldOptions } from '../gateway-fixture.ts'
import { type FakeSlack, SLACK, startFakeSlack } from './fake-slack.ts'

export interface SlackWorld {
  readonly world: World
  readonly slack: FakeSlack
  /** Links the member to the reviewer, as the pages of the console do. */
  link(reviewer: string, member: string): Promise<SignedIn>
  /** Makes a webhook that posts to the channel. */
  webhook(channel: string, only?: object): Promise<void>
  close(): Promise<void>
}

/** A gateway that is connected to a fake Slack. Turns of messages take no time. */
export async function openSlackWorld(options: WorldOptions = {}): Promise<SlackWorld> {
  const slack = await startFakeSlack()
  let ahead = 0
  const world = await openWorld({
    ...options,
    config: {
      ...options.config,
      slackAppToken: SLACK.appToken,
      slackBotToken: SLACK.botToken,
      slackClientId: '1.2',
      slackClientSecret: 'secret',
      slackServer: slack.url,
    },
    webhooks: options.webhooks ?? { everyMs: 50 },
    chatClock: {
      now: () => performance.now() + ahead,
      async sleep(ms, signal) {
        await new Promise((resolve) => setImmediate(resolve))
        signal?.throwIfAborted()
        ahead += ms
      },
    },
  })
  await slack.until(() => slack.sockets.size === 1)
  return {
    world,
    slack,
    async link(reviewer, member) {
      slack.member(member)
      const by = await world.signIn(reviewer)
      const claims = { 'https://slack.com/team_id': SLACK.workspace, 'https://slack.com/user_id': member }
      const flow = { tenant: 'acme', session: hashCredential(by.key) }
      const proposal = proposeLink(world.app.deps, { issuer: slack.url, subject: member, claims }, flow)
      const { status } = await by.call('POST', 'chats', { body: { proposal } })
      if (status !== 201) throw new Error(`not linked: ${status}`)
      return by
    },
    async webhook(channel, only) {
      slack.channels.add(channel)
      const body = { tenant: 'acme', format: 'slack-app', channel, ...(only && { only }) }
      const { status } = await world.admin('POST', 'webhooks', { body })
      if (status !== 201) throw new Error(`no webhook: ${status}`)
    },
    async close() {
      await world.close()
      await slack.close()
    },
  }
}
