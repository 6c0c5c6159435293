import type { Logger } from 'pino'
import { saysTrouble } from './outage-log.ts'
import type { ChatApp } from '../gateway/chat/chat-app.ts'
import type { Config } from '../settings/settings.ts'
import type { Deps } from '../gateway/core/deps.ts'
import type { WebhookPorts } from '../http/core/deps.ts'
import type { Metrics } from '../telemetry/count/metrics.ts'
import type { Tracing } from '../telemetry/tracing/tracing.ts'
import { createOutbound } from '../outbound/outbound.ts'
import { createOutboundThread } from '../outbound/outbound-thread.ts'
import { composeSecret } from '../webhooks/signature.ts'
import { createWorker, TRY_MS, type Worker } from '../webhooks/worker.ts'

/** Overrides: period of the outbox and limit of an attempt (ms), clock, trusted issuers, DNS servers, thread. */
export interface WebhookParts {
  readonly everyMs?: number
  readonly deadlineMs?: number
  readonly wall?: () => number
  readonly ca?: string
  readonly dnsServers?: readonly string[]
  /** True to make deliveries in a separate thread. The built file of the thread is next to the program. */
  readonly inThread?: boolean
}

export interface Webhooks {
  readonly ports: WebhookPorts
  readonly worker: Worker
}

const EVERY_MS = 500

/** Starts the sender of webhooks. */
export function startWebhooks(
  deps: Deps,
  config: Config,
  parts: {
    readonly settings: WebhookParts | undefined
    readonly metrics: Metrics
    readonly log: Logger
    readonly tracing: Tracing
    readonly chat: ChatApp | undefined
  },
): Webhooks {
  const { settings = {}, metrics, log, tracing, chat } = parts
  const { everyMs = EVERY_MS, deadlineMs = TRY_MS, wall = Date.now, inThread = false, ...trust } = settings
  const options = { allowed: config.webhooksAllow ?? [], ...trust }
  const onError = (error: unknown): void =>
    log.error({ err: error }, 'the thread that makes deliveries ended unexpectedly')
  const outbound = inThread ? createOutboundThread({ ...options, onError }) : createOutbound(options)
  const worker = createWorker(deps, {
    outbound,
    chat,
    everyMs,
    deadlineMs,
    wall,
    observe: (tried) => metrics.observeDelivery(tried),
    beginSpan: () => tracing.begin('deliver', undefined),
    // throttled, because the worker reads the outbox twice a second
    onError: saysTrouble(log, 'a webhook could not be delivered or recorded now'),
  })
  return {
    ports: { refusalOf: (url) => outbound.refusalOf(url), composeSecret: (bytes) => composeSecret(bytes) },
    worker,
  }
}
