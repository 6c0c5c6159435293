import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Logger } from 'pino'
import { createTracing, type Tracing } from './tracing.ts'

/*
 * The SDK of OpenTelemetry and its exporter. Only `import()` loads this file, when an endpoint is set.
 */
const PATH = 'v1/traces'
/** Maximum number of spans that wait to be sent. Further spans are dropped; requests never are. */
const MOST_WAITING = 4_096
const SEND_EVERY_MS = 1_000
const SEND_MS = 5_000
const CLOSE_MS = 1_000

export interface OtlpOptions {
  /** Base address of the collector, as in OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string
  readonly version: string
  readonly log: Pick<Logger, 'info' | 'warn'>
}

/** Sends spans to the collector in batches. OTEL_EXPORTER_OTLP_HEADERS contains headers, such as credentials. */
export function startOtlp({ endpoint, version, log }: OtlpOptions): Tracing {
  const url = new URL(PATH, endpoint.endsWith('/') ? endpoint : `${endpoint}/`).href
  const exporter = saying(new OTLPTraceExporter({ url, timeoutMillis: SEND_MS }), log)
  const named = resourceFromAttributes({ 'service.name': 'countersign', 'service.version': version })
  const processor = new BatchSpanProcessor({
    exporter,
    maxQueueSize: MOST_WAITING,
    scheduledDelayMillis: SEND_EVERY_MS,
    exportTimeoutMillis: SEND_MS,
  })
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(named)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [processor],
  })
  return createTracing(provider.getTracer('countersign', version), () => {
    const closed = provider.shutdown().catch(() => undefined)
    return Promise.race([closed, after(CLOSE_MS)])
  })
}

/** Returns the exporter, which logs once when it fails to send, and once when it sends again. */
function saying(exporter: SpanExporter, log: OtlpOptions['log']): SpanExporter {
  let away = false
  const send: SpanExporter['export'] = (spans, done) =>
    exporter.export(spans, (result) => {
      if (!away && result.error) log.warn('spans cannot be sent to the collector; they are dropped')
      if (away && !result.error) log.info('spans are sent again')
      away = result.error !== undefined
      done(result)
    })
  return {
    export: send,
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  }
}

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref())
