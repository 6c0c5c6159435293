import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { NO_TRACING, type Tracing } from './telemetry/tracing.ts'
import { packageVersion } from './telemetry/version.ts'

/** The SDK of OpenTelemetry is read only when there is a collector to send to. */
export async function tracingOf({ otlpEndpoint: endpoint }: Config, log: Logger): Promise<Tracing> {
  if (endpoint === undefined) return NO_TRACING
  const { startOtlp } = await import('./telemetry/otlp.ts')
  return startOtlp({ endpoint, version: packageVersion(), log })
}
