import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { SettingsView } from '../contract/admin.ts'
import type { AdminKeys } from '../gateway/core/admin-keys.ts'
import type { Deps } from '../gateway/core/deps.ts'
import type { LogIdentity } from '../gateway/jobs/checkpoints.ts'
import type { Tiles } from '../gateway/jobs/publish-tiles.ts'
import type { WebhookPorts } from '../http/core/deps.ts'
import { createWaits } from '../http/core/long-polls.ts'
import { createRates } from '../http/core/rate-limit.ts'
import type { Site } from '../http/core/same-origin.ts'
import { packageSchemas } from '../http/core/validation.ts'
import type { Health } from '../http/operations/public.ts'
import { createServer } from '../http/server/server.ts'
import type { Config } from '../settings/settings.ts'
import type { Metrics } from '../telemetry/count/metrics.ts'
import { NO_TRACING, type Tracing } from '../telemetry/tracing/tracing.ts'
import { admissionOf, connectionsOf } from './admission.ts'
import type { Chat } from './chat.ts'
import { healthOf } from './health.ts'
import type { Reports } from './reports.ts'
import { singleSignOnOf } from './sign-in.ts'

/** The HTTP server with all that its handlers need, and the health that it reports. */
export function serverOf(
  config: Config,
  parts: {
    deps: Deps
    metrics: Metrics
    log: Logger
    adminKeys: AdminKeys
    logIdentity: LogIdentity
    tiles: Tiles | undefined
    streamBeatMs: number
    tracing: Tracing
    webhooks: WebhookPorts
    chat: Chat | undefined
    site: () => Site
    reports: Reports
    settings: SettingsView
  },
): { server: FastifyInstance; health: Health } {
  const { deps, metrics, log, adminKeys, logIdentity, streamBeatMs, tracing, webhooks, site } = parts
  const { health, close } = healthOf(deps, parts.reports)
  const waits = createWaits()
  const endAll = (): void => {
    close()
    waits.endAll()
  }
  const http = {
    gateway: deps,
    schemas: packageSchemas(),
    waits: { ...waits, endAll },
    admission: admissionOf(config, { gateway: deps, adminKeys, log }),
    ...(tracing === NO_TRACING
      ? {}
      : { beginSpan: (...work: Parameters<Tracing['begin']>) => tracing.begin(...work) }),
    rates: createRates(),
    connections: connectionsOf(config, metrics.observeShedConnection),
    log,
    bodyBytes: config.bodyLimit,
    streamBeatMs,
    webhooks,
    adminKeys,
    logIdentity,
    tiles: parts.tiles,
    settings: parts.settings,
    ...singleSignOnOf(config),
    ...(parts.chat && { chats: parts.chat.provider }),
    site,
    shadowCounts: metrics.shadowCounts,
    watcher: { answered: metrics.observeHttp, aborted: metrics.observeAborted, route: metrics.expectRoute },
  }
  const server: FastifyInstance = createServer(http, health)
  return { server, health }
}
