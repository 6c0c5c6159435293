import { setTimeout } from 'node:timers/promises'
import type { Logger } from 'pino'
import { click } from '../gateway/chat/click.ts'
import type { Deps } from '../gateway/core/deps.ts'
import type { IdentityProvider } from '../gateway/auth/identity-provider.ts'
import { createOutbound, openGuarded, type OutboundOptions } from '../outbound/outbound.ts'
import type { Config } from '../settings/settings.ts'
import { openIdProvider } from '../sign-in/oidc.ts'
import type { SlackApp, SlackOptions } from '../slack/app.ts'
import type { Metrics } from '../telemetry/count/metrics.ts'

/** The chat in which reviewers decide. */
export interface Chat {
  readonly app: SlackApp
  /** Links accounts (OpenID Connect). */
  readonly provider: IdentityProvider
}

export type Clock = SlackOptions['clock']
export const REAL_CLOCK: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) => setTimeout(ms, undefined, { ref: false, ...(signal && { signal }) }),
}

const SLACK = 'https://slack.com'
const CONNECT_MS = 10_000

/** Opens the chat of the configuration; undefined without one. The code of Slack loads with Slack only. */
export async function startChat(
  deps: Deps,
  config: Config,
  { metrics, log, clock }: { readonly metrics: Metrics; readonly log: Logger; readonly clock: Clock },
): Promise<Chat | undefined> {
  const { slackAppToken, slackBotToken, slackClientId, slackClientSecret } = config
  if (!slackAppToken || !slackBotToken || !slackClientId || !slackClientSecret) return undefined
  const { openSlack } = await import('../slack/app.ts')
  const transport = slackTransport(config)
  metrics.chatConnected(false)
  const app = openSlack({
    ...transport,
    clock,
    appToken: slackAppToken,
    botToken: slackBotToken,
    onClick: (clicked) => click(deps, app, clicked),
    onAnswer: metrics.observeClick,
    onSent: metrics.observeChatMessage,
    onConnected: metrics.chatConnected,
    onTrouble: (reason) =>
      log.warn({ reason }, 'no connection to Slack now: reviewers decide in the console'),
  })
  const provider = openIdProvider({
    issuer: transport.server,
    clientId: slackClientId,
    clientSecret: slackClientSecret,
    scopes: 'openid profile',
    label: 'Slack',
    claims: [`${SLACK}/team_id`, `${SLACK}/user_id`],
    outbound: transport,
  })
  return { app, provider }
}

type Transport = Pick<SlackOptions, 'server' | 'fetch' | 'open'>

/**
 * The way to Slack: by the outbound guard, as every connection of the gateway. Only a server that takes the place of
 * Slack on this machine is reached without TLS, and then no other server is.
 */
export function slackTransport(
  { slackServer, webhooksAllow: allowed = [] }: Config,
  trust: Omit<OutboundOptions, 'allowed'> = {},
): Transport {
  if (slackServer !== undefined) return { server: slackServer, ...rehearsal(slackServer) }
  const guard = { allowed, ...trust }
  const outbound = createOutbound(guard)
  return {
    server: SLACK,
    fetch: (url, init) => outbound.fetch(url, init),
    open(url) {
      if (!url.startsWith('wss://')) throw new Error('Slack named an address without TLS')
      return openGuarded(url.replace('wss:', 'https:'), guard, CONNECT_MS)
    },
  }
}

function rehearsal(server: string): Pick<Transport, 'fetch' | 'open'> {
  const only = (url: string): void => {
    if (new URL(url).host !== new URL(server).host)
      throw new TypeError(`only ${server} is reached in a rehearsal`)
  }
  return {
    async fetch(url, { deadlineMs, signal, ...init }) {
      only(url)
      const limit = AbortSignal.timeout(deadlineMs)
      const either = signal === undefined ? limit : AbortSignal.any([limit, signal])
      return fetch(url, { ...init, redirect: 'manual', signal: either })
    },
    async open(url) {
      only(url)
      return undefined
    },
  }
}
