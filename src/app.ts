import type { AddressInfo } from 'node:net'
import type { SettingsView } from './contract/admin.ts'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { assembleMetrics } from './app/metrics.ts'
import { type Chat, type Clock, REAL_CLOCK, startChat } from './app/chat.ts'
import { hostInUrl, listenAddress } from './app/listen-address.ts'
import { type Channel, createChannel, depsOf, commitIds, randomSource } from './app/deps.ts'
import { startCheckpoints } from './app/evidence.ts'
import { type BundleLoaders, loaderOf, noteLoads, noteWithdrawal } from './app/policies.ts'
import type { Reports } from './app/reports.ts'
import type { Snapshot } from './policy/language/snapshot.ts'
import { type Sizes, startSizes } from './app/sizes.ts'
import { siteOfServer, warnOfSite } from './app/site.ts'
import { serverOf } from './app/server.ts'
import { openExpectedStore } from './app/store.ts'
import { openPlaces, type Places, tilesAddressOf } from './app/places.ts'
import { startTiles, tilesOf, type TilesWriter } from './app/tiles.ts'
import { startWatches, type TilesWatch } from './app/tiles-watch.ts'
import { tracingOf } from './app/tracing.ts'
import { storeOfWholeLog } from './app/whole-log.ts'
import { startWebhooks, type WebhookParts, type Webhooks } from './app/webhooks.ts'
import type { Config } from './settings/settings.ts'
import type { Checkpointer } from './evidence/checkpointer.ts'
import { Confirmed } from './evidence/confirmed.ts'
import type { LogIdentity } from './gateway/jobs/checkpoints.ts'
import type { Deps } from './gateway/core/deps.ts'
import { issueLink, type Person } from './gateway/auth/login-links.ts'
import type { LossWatch } from './gateway/jobs/loss-watch.ts'
import { createLoadNotes, type LoadNotes } from './gateway/admin/policy-load-queue.ts'
import { type OwnSecrets, ownSecrets, type SecretSources } from './gateway/jobs/own-secrets.ts'
import { startTimer, type Timer } from './gateway/jobs/rounds.ts'
import type { Health } from './http/operations/public.ts'
import { linkUrl, type Site, threadUrl } from './http/core/same-origin.ts'
import { BEAT_MS } from './http/operations/stream.ts'
import { type FeedOptions, type LoadReport, openPolicyFeed, type PolicyFeed } from './policy/bundle/feed.ts'
import type { Store } from './store/store.ts'
import { listenForOperators, type MetricsListener } from './telemetry/metrics-listener.ts'
import { evidenceLog } from './telemetry/log/log.ts'
import type { Traffic } from './telemetry/count/gauges.ts'
import type { Metrics, MetricSources } from './telemetry/count/metrics.ts'
import { timerNotes } from './telemetry/log/timer-log.ts'
import { NO_TRACING, noteEvidence, type Tracing } from './telemetry/tracing/tracing.ts'

/** A running gateway. */
export interface App {
  readonly url: string
  readonly metricsUrl: string
  readonly deps: Deps
  /** The URL of a one-time link that signs a reviewer in. */
  loginLink(person: Person): Promise<string>
  readonly health: Health
  /** Stops accepting requests, ends waits, lets requests in progress finish, and closes the store. */
  close(): Promise<void>
}

export interface AppParts extends BundleLoaders {
  readonly log: Logger
  /**
   * Receives the admin key that this start generated, as soon as the store has it. Even if the start fails later, no
   * other start shows the key again.
   */
  readonly onNewAdminKey?: (key: string) => void
  /** Opens the store. The default opens the store of the configuration. */
  readonly openStore?: (config: Config) => Promise<Store>
  /** The timers of the watch of the bundle, for tests. */
  readonly policyClock?: FeedOptions['clock']
  /** Receives every load of policies after the gateway listens. */
  readonly onPolicyLoad?: (report: LoadReport, inForce: Snapshot | undefined) => void
  readonly timerEveryMs?: number
  /** Time between two reports of this instance, ms. Each report proves that the store accepts writes. */
  readonly reportEveryMs?: number
  readonly streamBeatMs?: number
  /** Time between two checkpoints of evidence, ms. */
  readonly checkpointEveryMs?: number
  /** Time between two rounds of the writer of tiles, ms. */
  readonly tilesEveryMs?: number
  /** Settings of webhooks: the interval of the outbox, the time limit of an attempt, and trusted certificates. */
  readonly webhooks?: WebhookParts
  /** Time and waiting of the chat, for tests. */
  readonly chatClock?: Clock
  /** The report of the settings for `countersign doctor`. A program without settings reports none. */
  readonly settings?: SettingsView
  /** Creates the counters; the default keeps the metrics of the table. */
  readonly createMetrics?: (sources: MetricSources) => Metrics
}

const NO_SETTINGS: SettingsView = { node: process.versions, settings: [], unknown: [], without_effect: [] }
const TIMER_EVERY_MS = 500
const NOTE_RETRY_MS = 1_000

/** Composes the gateway from all adapters, which only this function knows. Resolves when the gateway listens. */
export async function startApp(config: Config, parts: AppParts): Promise<App> {
  const { log } = parts
  let store: Store | undefined
  let places: Places | undefined
  const early: LoadReport[] = []
  let note = (report: LoadReport): void => void early.push(report)
  let noteWithdrawn: FeedOptions['onWithdrawn'] = () => undefined
  const policies = openPolicyFeed(config.policies, {
    load: loaderOf(config, parts),
    now: () => store?.now() ?? Date.now(),
    rescanMs: config.policyRescan,
    onLoad: (report) => note(report),
    onWithdrawn: (withdrawal) => noteWithdrawn(withdrawal),
    ...(parts.policyClock && { clock: parts.policyClock }),
  })
  try {
    const tracing = await tracingOf(config, log)
    places = await openPlaces(tilesAddressOf(config), config)
    store = await (parts.openStore?.(config) ?? openExpectedStore(config, { log, places }))
    const gateway = await assemble(config, parts, { store, policies, tracing, places })
    await policies.ready
    const notes = noteLoads(config, { ...gateway, log })
    note = (report) => {
      notes(report)
      gateway.reports.soon()
      parts.onPolicyLoad?.(report, policies.current())
    }
    noteWithdrawn = (withdrawal) => {
      noteWithdrawal(withdrawal, { ...gateway, log })
      gateway.reports.soon()
    }
    early.forEach(note)
    return await listen(config, gateway, log)
  } catch (error) {
    await policies.close()
    await store?.close()
    places?.close()
    throw error
  }
}

interface Adapters {
  readonly store: Store
  readonly policies: PolicyFeed
  readonly tracing: Tracing
  /** The places of tiles; undefined when tiles are off. */
  readonly places: Places | undefined
}

interface Gateway extends Adapters {
  readonly deps: Deps
  readonly metrics: Metrics
  readonly server: FastifyInstance
  readonly health: Health
  readonly site: () => Site
  readonly timer: Timer
  readonly worker: Webhooks['worker']
  readonly chat: Chat | undefined
  readonly checkpointer: Checkpointer
  readonly tiles: TilesWriter
  readonly tilesWatch: TilesWatch
  readonly loads: LoadNotes
  readonly reports: Reports
  readonly sizes: Sizes
}

async function readSecrets(
  { storeDeadline: deadlineMs, deployment, adminKey, signingKey }: Config,
  { onNewAdminKey }: AppParts,
  sources: Pick<SecretSources, 'store' | 'random' | 'commitId'>,
): Promise<OwnSecrets> {
  const own = await ownSecrets({ ...sources, deadlineMs, deployment, adminKey, signingKey })
  if (own.newAdminKey !== undefined) onNewAdminKey?.(own.newAdminKey)
  return own
}

async function assemble(config: Config, parts: AppParts, adapters: Adapters): Promise<Gateway> {
  const [{ log }, { tracing }] = [parts, adapters]
  const random = randomSource()
  const nextCommitId = commitIds(random)
  const own = await readSecrets(config, parts, { store: adapters.store, random, commitId: nextCommitId })
  const channel = createChannel()
  const confirmed = new Confirmed(() => adapters.store.now())
  // called only when all parts are open
  const asked = {
    deps: () => deps,
    traffic: () => server.traffic(),
    isReady: async () => (await health.ready()).ready,
    isStoreLost: () => watch.lost() !== undefined,
    checkpointLagMs: () => confirmed.lagMs(),
    tiles: () => ({ ...evidence.tiles.readings(), unreadable: tilesWatch.trouble() }),
  }
  const metrics = assembleMetrics({ ...adapters, ...asked, log }, parts.createMetrics)
  subscribe(channel, { metrics, confirmed, log, tracing })
  const site = siteOfServer(config, () => server)
  const whole = storeOfWholeLog(metrics.observed(adapters.store), adapters.places)
  const deps = depsOf(config, {
    store: whole,
    policies: adapters.policies,
    random,
    nextCommitId,
    commitmentSecret: own.commitments,
    enqueued: (tenant) => webhooks.worker.wake(tenant),
    threadUrl: (thread) => threadUrl(site(), thread),
    observe: channel.publish,
  })
  const known = { own, config, parts, confirmed, ...adapters }
  const { tilesWatch, reports } = startWatches(deps, whole.tiles, known)
  const { watch } = reports
  const evidence = startLog(deps, parts, { ...known, identity: own.log, watch, traffic: asked.traffic })
  const { chat, webhooks } = await startSending(deps, config, { parts, metrics, tracing })
  const { server, health } = serverOf(config, {
    deps,
    metrics,
    log,
    adminKeys: own.adminKeys,
    logIdentity: own.log,
    tiles: adapters.places && tilesOf(own.log, adapters.places),
    streamBeatMs: parts.streamBeatMs ?? BEAT_MS,
    tracing,
    webhooks: webhooks.ports,
    chat,
    site,
    reports,
    settings: parts.settings ?? NO_SETTINGS,
  })
  const jobs = {
    chat,
    worker: webhooks.worker,
    reports,
    sizes: startSizes(deps, config, { store: adapters.store, log }),
    tilesWatch,
    ...evidence,
    ...startJobs(deps, parts, { metrics, watch }),
  }
  return { ...adapters, deps, metrics, server, health, site, ...jobs }
}

/** Opens the chat, and starts the sender of webhooks, which also brings the chat's messages up to date. */
async function startSending(
  deps: Deps,
  config: Config,
  { parts, ...of }: { readonly parts: AppParts; readonly metrics: Metrics; readonly tracing: Tracing },
): Promise<{ chat: Chat | undefined; webhooks: Webhooks }> {
  const { log, webhooks: settings, chatClock: clock = REAL_CLOCK } = parts
  const chat = await startChat(deps, config, { metrics: of.metrics, log, clock })
  return { chat, webhooks: startWebhooks(deps, config, { ...of, settings, log, chat: chat?.app }) }
}

/** Starts the signer of evidence, and the writer of its tiles. */
function startLog(
  deps: Deps,
  { log, checkpointEveryMs, tilesEveryMs }: AppParts,
  {
    places,
    ...of
  }: {
    identity: LogIdentity
    watch: LossWatch
    confirmed: Confirmed
    traffic: () => Traffic
    places: Places | undefined
  },
): Pick<Gateway, 'checkpointer' | 'tiles'> {
  const isBusy = (): boolean => Object.values(of.traffic().waiting).some((calls) => calls > 0)
  const tiles = startTiles(deps, places, { ...of, isBusy, log, everyMs: tilesEveryMs })
  const parts = { ...of, log, tiles, everyMs: checkpointEveryMs }
  return { checkpointer: startCheckpoints(deps, of.identity, parts), tiles }
}

function startJobs(
  deps: Deps,
  { log, timerEveryMs = TIMER_EVERY_MS }: AppParts,
  { metrics, watch }: { readonly metrics: Metrics; readonly watch: LossWatch },
): Pick<Gateway, 'timer' | 'loads'> {
  const notes = timerNotes(log, metrics.observeTimer)
  // the loss itself is in the log
  const onError = (error: unknown): void => void (watch.lost() === undefined && notes.onError(error))
  return {
    timer: startTimer(deps, { everyMs: timerEveryMs, ...notes, onError }),
    loads: createLoadNotes(deps, {
      retryMs: NOTE_RETRY_MS,
      onError: (error) => log.error({ err: error }, 'policy loads cannot be recorded yet'),
    }),
  }
}

function subscribe(
  channel: Channel,
  {
    metrics,
    confirmed,
    log,
    tracing,
  }: { metrics: Metrics; confirmed: Confirmed; log: Logger; tracing: Tracing },
): void {
  channel.subscribe(metrics.observe)
  channel.on('commit', confirmed.noted)
  channel.on('evidence', evidenceLog(log))
  if (tracing !== NO_TRACING) channel.on('evidence', noteEvidence)
}

/**
 * Connections that may wait to be accepted, within the system's `somaxconn`. The system drops further connections, and
 * clients try again after 1, 3, 7 and 15 s.
 */
const BACKLOG = 4_096

async function listen(config: Config, gateway: Gateway, log: Logger): Promise<App> {
  const { server, metrics, timer, worker, policies, loads, checkpointer, store, deps, health } = gateway
  const { tracing } = gateway
  let scrapes: MetricsListener | undefined
  const close = async (): Promise<void> => {
    await server.close()
    await timer.close()
    await gateway.chat?.app.close()
    await worker.close()
    await policies.close()
    await loads.close()
    await gateway.tilesWatch.close()
    await gateway.tiles.close()
    await checkpointer.close()
    await gateway.reports.close()
    await gateway.sizes.close()
    await scrapes?.close()
    await tracing.close()
    await store.close()
  }
  try {
    await server.listen({ host: await listenAddress(config.host), port: config.port, backlog: BACKLOG })
    const pages = { scrape: metrics.scrape, ready: () => health.ready() }
    const { metricsPort, metricsNames: names = [] } = config
    const host = await listenAddress(config.metricsHost)
    scrapes = await listenForOperators(pages, { host, port: metricsPort, names })
    const { port } = server.server.address() as AddressInfo
    const site = gateway.site()
    warnOfSite(config, site, log)
    return {
      url: `http://${hostInUrl(config.host)}:${port}`,
      loginLink: async (person) => linkUrl(site, (await issueLink(deps, person)).token),
      metricsUrl: `http://${hostInUrl(config.metricsHost)}:${scrapes.port}/metrics`,
      deps,
      health,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
