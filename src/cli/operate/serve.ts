import type { Logger } from 'pino'
import type { App, AppParts } from '../../app.ts'
import { defined } from '../../contract/defined.ts'
import { type Config, type LoadedConfig, proxyVariables, settingsReport } from '../../settings/config.ts'
import { type BundleChild, startBundleChild } from '../../policy/bundle/start.ts'
import { command } from '../terminal/command.ts'
import { endAfterLastWords } from '../terminal/last-words.ts'
import { parse } from '../terminal/parse.ts'
import { readSettings } from './read-settings.ts'
import { startFailure } from './start-failure.ts'
import { ignoresHangUp, STOP_SIGNALS } from '../terminal/signals.ts'

export const SERVE = command({
  name: 'serve',
  says: `Runs the gateway until SIGTERM or SIGINT, or until its terminal closes (SIGHUP). \`countersign config\` lists
    every setting with its value and origin.`,
  flags: {},
  settings: '[--host ADDRESS] [--port PORT] [--store file:DIR|redis://HOST] [--policies DIR] ...',
})

/** Maximum time from the signal to the end of the process, ms. */
const SHUTDOWN_MS = 9_500

/** `countersign serve`: state, policies and metrics as configured; logs as JSON lines on stdout. */
export async function serve(args: readonly string[]): Promise<void> {
  const loaded = readSettings(parse(SERVE, args))
  const { config } = loaded
  const asked = untilAskedToStop()
  const { app, log } = await startOrExplain(loaded, config.logLevel, showAdminKey)
  warnOfSettings(log, loaded)
  log.info(
    {
      url: app.url,
      metrics: app.metricsUrl,
      store: config.store.shown,
      durability: app.deps.store.durability,
      policies: config.policies,
    },
    'listening',
  )
  warnOfClock(log, app.deps.store.now() - Date.now())
  const readiness = await app.health.ready()
  if (!readiness.ready) log.warn(readiness, 'not ready: every evaluation is rejected until this is fixed')
  await asked
  log.info('shutting down')
  await app.close()
  log.info('stopped')
  endAfterLastWords()
}

/** The text in the usage of the commands that accept the settings of `serve`. */
export const FLAGS_OF_SERVE = '[the flags of countersign serve]'

export interface Started {
  readonly app: App
  readonly log: Logger
}

/**
 * Warns about settings and variables without effect. The start continues, because another version may know the
 * settings.
 */
export function warnOfSettings(
  log: Pick<Logger, 'warn'>,
  { unknown, links, withoutEffect }: Pick<LoadedConfig, 'unknown' | 'links' | 'withoutEffect'>,
  proxies: readonly string[] = proxyVariables(),
): void {
  if (links.length > 0)
    log.warn({ variables: links }, 'variables that Kubernetes made for a Service are ignored')
  if (proxies.length > 0)
    log.warn(
      { variables: proxies },
      'a proxy for outgoing connections has no effect: webhooks and sign-in connect directly',
    )
  for (const variable of unknown) log.warn({ variable }, 'the variable is not a setting and is ignored')
  for (const { name, counts } of withoutEffect)
    log.warn({ setting: name }, `the setting has no effect: it applies only ${counts}`)
}

/** The difference at which the alert fires (deploy/prometheus/alerts.yaml), ms. */
const CLOCKS_APART_MS = 5_000

/** Warns when the clocks differ. Deadlines use the store's clock, and webhook signatures use this machine's clock. */
export function warnOfClock(log: Pick<Logger, 'warn'>, aheadMs: number): void {
  if (Math.abs(aheadMs) <= CLOCKS_APART_MS) return
  const difference = aheadMs > 0 ? "the store's clock is ahead of" : "the store's clock is behind"
  log.warn(
    { apart_seconds: Math.abs(aheadMs) / 1_000 },
    `${difference} that of this machine: one of the two clocks is wrong, or was`,
  )
}

/** Shows the admin key. The store keeps only its hash, so no later start can show the key. */
export function showAdminKey(key: string): void {
  console.error(`admin key (shown once, keep it): ${key}`)
}

function sayUnwritten({ message }: Error): void {
  console.error(`countersign: the log cannot be written now; its lines are kept until it can: ${message}`)
}

/** Starts the gateway. Another core loads and checks the policies while this core loads the gateway's modules. */
export async function startOrExplain(
  loaded: LoadedConfig,
  logLevel: Config['logLevel'],
  onNewAdminKey: (key: string) => void,
  onPolicyLoad?: AppParts['onPolicyLoad'],
): Promise<Started> {
  const { config } = loaded
  let bundleChild: BundleChild | undefined
  try {
    bundleChild = startBundleChild(config.policies)
    const [{ startApp }, { createLog, standardOutput }] = await Promise.all([
      import('../../app.ts'),
      import('../../telemetry/log/log.ts'),
    ])
    const log = createLog(logLevel, standardOutput(sayUnwritten))
    const parts = {
      log,
      settings: settingsReport(loaded),
      bundleChild,
      webhooks: { inThread: true },
      onNewAdminKey,
      ...defined({ onPolicyLoad }),
    }
    return { app: await startApp(config, parts), log }
  } catch (error) {
    await bundleChild?.end()
    endAfterLastWords()
    throw startFailure(config, error)
  }
}

/**
 * Resolves when a signal asks the process to stop. Listens immediately, because the system sends the first process of a
 * container only the signals that it handles. A hanging start or request does not keep the process alive.
 */
export function untilAskedToStop(): Promise<void> {
  const deaf = ignoresHangUp()
  const signals = STOP_SIGNALS.filter((name) => !deaf || name !== 'SIGHUP')
  if (deaf) process.on('SIGHUP', () => undefined)
  return new Promise((resolve) => {
    const stop = (): void => {
      // a second signal ends the process immediately
      for (const signal of signals) process.off(signal, stop)
      // `process.exit` is not used, because it waits for pending system calls
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), SHUTDOWN_MS).unref()
      resolve()
    }
    for (const signal of signals) process.on(signal, stop)
  })
}
