import type { Logger } from 'pino'
import type { Config } from '../settings/config.ts'
import { NO_TRACING, type Tracing } from '../telemetry/tracing/tracing.ts'
import { packageVersion } from '../system/package.ts'

/** Starts tracing. Loads the SDK of OpenTelemetry only when the configuration names a collector. */
export async function tracingOf({ otlpEndpoint: endpoint }: Config, log: Logger): Promise<Tracing> {
  if (endpoint === undefined) return NO_TRACING
  const { startOtlp } = await import('../telemetry/tracing/otlp.ts')
  return startOtlp({ endpoint, version: packageVersion(), log })
}
