import { ConfigError, loadConfig, type LoadedConfig } from '../config.ts'
import { createLog } from '../telemetry/log.ts'
import { startApp, type App } from '../app.ts'
import { CliFailure, EXIT } from './failure.ts'

export const SERVE_USAGE = `countersign serve [--host ADDRESS] [--port PORT] [--store file:DIR] [--policies DIR] ...

  Runs the gateway until SIGTERM or SIGINT. \`countersign config\` lists every setting with its value and origin.`

/** Longest time a shutdown may take before the process ends anyway, ms. */
const SHUTDOWN_MS = 9_500

/** `countersign serve`: state, policies and metrics as configured; logs as JSON lines on stdout. */
export async function serve(args: readonly string[]): Promise<void> {
  const { config } = await readConfig(args)
  const log = createLog(config.logLevel)
  const app = await startOrExplain(config, log)
  if (app.newAdminKey !== undefined) {
    console.error(`admin key (shown once, keep it): ${app.newAdminKey}`)
  }
  log.info(
    { url: app.url, metrics: app.metricsUrl, store: config.store, policies: config.policies },
    'listening',
  )
  const readiness = await app.health.ready()
  if (!readiness.ready) log.warn(readiness, 'not ready: every evaluation is rejected until this is mended')
  await untilAskedToStop()
  log.info('shutting down')
  await closeInTime(app)
}

export async function readConfig(args: readonly string[]): Promise<LoadedConfig> {
  const { parse } = await import('yaml')
  try {
    return loadConfig({ args, parseYaml: (text) => parse(text) as unknown })
  } catch (error) {
    if (error instanceof ConfigError) throw new CliFailure(error.message, { exit: EXIT.usage, cause: error })
    throw error
  }
}

export async function startOrExplain(
  config: LoadedConfig['config'],
  log: Parameters<typeof startApp>[1]['log'],
): Promise<App> {
  try {
    return await startApp(config, { log })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const hint = code === 'EADDRINUSE' ? 'choose another with --port or --metrics-port' : undefined
    throw new CliFailure(`cannot start: ${message}`, {
      cause: error,
      ...(hint === undefined ? {} : { hint }),
    })
  }
}

export function untilAskedToStop(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
}

/** In-flight requests finish; a request that never ends does not keep the process. */
export async function closeInTime(app: App): Promise<void> {
  const giveUp = setTimeout(() => process.exit(EXIT.unexpected), SHUTDOWN_MS)
  await app.close()
  clearTimeout(giveUp)
}
