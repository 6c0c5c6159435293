import type { Logger } from 'pino'
import { saysTrouble } from './outage-log.ts'
import type { Config } from '../settings/settings.ts'
import type { Deps } from '../gateway/core/deps.ts'
import type { WebhookPorts } from '../http/deps.ts'
import type { Metrics } from '../telemetry/count/metrics.ts'
import type { Tracing } from '../telemetry/tracing/tracing.ts'
import { createOutbound } from '../outbound/outbound.ts'
import { createOutboundThread } from '../outbound/outbound-thread.ts'
import { composeSecret } from '../webhooks/signature.ts'
import { createWorker, TRY_MS, type Worker } from '../webhooks/worker.ts'

/** Changes for tests: period of the outbox and limit of a try (ms), clock, trusted issuers, DNS. */
export interface WebhookParts {
  readonly everyMs?: number
  readonly deadlineMs?: number
  readonly wall?: () => number
  readonly ca?: string
  readonly dnsServers?: readonly string[]
  /** Deliveries are made in a thread of their own, whose built file lies beside the program. */
  readonly inThread?: boolean
}

export interface Webhooks {
  readonly ports: WebhookPorts
  /** Wakes the worker for a tenant, once it has started. */
  enqueued(tenant: string): void
  start(
    deps: Deps,
    parts: { readonly metrics: Metrics; readonly log: Logger; readonly tracing: Tracing },
  ): Worker
}

const EVERY_MS = 500

/** The sender of webhooks. It is known to the gateway before it starts, because it needs the gateway to start. */
export function assembleWebhooks(config: Config, parts: WebhookParts = {}): Webhooks {
  const { everyMs = EVERY_MS, deadlineMs = TRY_MS, wall = Date.now, inThread = false, ...trust } = parts
  const options = { allowed: config.webhooksAllow ?? [], ...trust }
  let threadDied: (error: unknown) => void = () => undefined
  const outbound = inThread
    ? createOutboundThread({ ...options, onError: (error) => threadDied(error) })
    : createOutbound(options)
  let worker: Worker | undefined
  return {
    ports: { refusalOf: (url) => outbound.refusalOf(url), composeSecret: (bytes) => composeSecret(bytes) },
    enqueued: (tenant) => worker?.wake(tenant),
    start(deps, { metrics, log, tracing }) {
      threadDied = (error) => log.error({ err: error }, 'the thread that makes deliveries died')
      worker = createWorker(deps, {
        outbound,
        everyMs,
        deadlineMs,
        wall,
        observe: (tried) => metrics.observeDelivery(tried),
        beginSpan: () => tracing.begin('deliver', undefined),
        // the outbox is looked at twice a second
        onError: saysTrouble(log, 'a webhook could not be delivered or noted now'),
      })
      return worker
    },
  }
}
