import { setImmediate as nextTurn } from 'node:timers/promises'
import { Counter, type Metric, type OpenMetricsContentType, Registry } from 'prom-client'

/**
 * The two texts of `/metrics`. A registry of prom-client 15 writes one format, and permanently renames counters when it
 * writes OpenMetrics. Each format therefore has a separate registry, in which each metric has its name for that format.
 */
export type Format = 'openmetrics' | 'text'

export interface Exposition {
  readonly contentType: string
  readonly text: string
}

/** Characters written in one turn of the event loop, so that a scrape does not delay decisions. */
const SLICE_CHARS = 32_768

/** Creates a function that writes all metrics, in slices. */
export function createExposition(
  metrics: readonly Metric[],
  turn: () => Promise<unknown> = () => nextTurn(),
): (format: Format) => Promise<Exposition> {
  const registries = { openmetrics: new Registry<OpenMetricsContentType>(), text: new Registry() }
  registries.openmetrics.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  const shown = metrics.map((metric) => ({ text: metric, openmetrics: openMetricsOf(metric) }))
  for (const { text, openmetrics } of shown) {
    registries.text.registerMetric(text)
    registries.openmetrics.registerMetric(openmetrics)
  }
  return async (format) => {
    const registry = registries[format]
    const parts: string[] = []
    let slice = 0
    for (const metric of shown) {
      const part = await registry.getSingleMetricAsString(nameOf(metric[format]))
      parts.push(part)
      slice += part.length
      if (slice < SLICE_CHARS) continue
      slice = 0
      await turn()
    }
    const text = format === 'text' ? `${parts.join('\n\n')}\n` : `${parts.join('\n')}\n# EOF\n`
    return { contentType: registry.contentType, text }
  }
}

/**
 * Returns the metric, for a counter without `_total`, because prom-client adds that suffix to its samples. Both metrics
 * share their values.
 */
function openMetricsOf(metric: Metric): Metric {
  if (!(metric instanceof Counter)) return metric
  return Object.create(metric, { name: { value: nameOf(metric).replace(/_total$/, '') } }) as Metric
}

/** Returns the name, which prom-client's types omit. */
const nameOf = (metric: Metric): string => (metric as Metric & { readonly name: string }).name

/**
 * Returns the format that a scraper prefers (RFC 9110 section 12.5.1): OpenMetrics when `accept` names it in the
 * supported version and does not prefer text. Otherwise, returns the classic text format.
 */
export function formatFor(accept = ''): Format {
  const offers = accept.split(',').map(offerOf)
  const wish = (fits: (offer: Offer) => boolean): number =>
    Math.max(0, ...offers.filter(fits).map(({ quality }) => quality))
  const openmetrics = wish(({ type, version }) => type === OPENMETRICS && (version ?? '1.0.0') === '1.0.0')
  const text = wish(({ type, version }) => type === 'text/plain' && (version ?? '0.0.4') === '0.0.4')
  return openmetrics > 0 && openmetrics >= text ? 'openmetrics' : 'text'
}

const OPENMETRICS = 'application/openmetrics-text'

interface Offer {
  readonly type: string
  readonly version: string | undefined
  readonly quality: number
}

function offerOf(text: string): Offer {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const named = new Map(
    parameters.map((part): [string, string] => {
      const [name = '', value = ''] = part.split('=', 2)
      return [name.trim(), value.trim().replaceAll('"', '')]
    }),
  )
  const quality = Number(named.get('q') ?? 1)
  return { type, version: named.get('version'), quality: quality >= 0 && quality <= 1 ? quality : 0 }
}
