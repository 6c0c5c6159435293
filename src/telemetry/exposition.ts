import { setImmediate as nextTurn } from 'node:timers/promises'
import { Counter, type OpenMetricsContentType, Registry } from 'prom-client'

/**
 * The two texts of `/metrics`. prom-client 15 gives one of them for each registry, with exemplars only where the registry is OpenMetrics from
 * the start, and renames counters for good when it writes OpenMetrics. So metrics are born in a registry of their own, and shown by two others.
 */
export type BirthRegistry = Registry<OpenMetricsContentType>
export type Format = 'openmetrics' | 'text'

export interface Exposition {
  readonly contentType: string
  readonly text: string
}

export function createRegistry(): BirthRegistry {
  const registry = new Registry<OpenMetricsContentType>()
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  return registry
}

/** Characters after which others get a turn: a scrape must not hold up decisions. */
const SLICE_CHARS = 32_768

/** Writes out, in slices, everything that was registered in `born` until now. */
export function createExposition(
  born: BirthRegistry,
  turn: () => Promise<unknown> = () => nextTurn(),
): (format: Format) => Promise<Exposition> {
  const metrics = born.getMetricsAsArray().map(({ name }) => ({ name, metric: born.getSingleMetric(name) }))
  const registries = { openmetrics: createRegistry(), text: new Registry() }
  const names: Record<Format, string[]> = { openmetrics: [], text: [] }
  for (const { name, metric } of metrics) {
    if (metric === undefined) continue
    registries.text.registerMetric(metric)
    names.text.push(name)
    const family = metric instanceof Counter ? name.replace(/_total$/, '') : name
    registries.openmetrics.registerMetric(family === name ? metric : renamed(metric, family))
    names.openmetrics.push(family)
  }
  return async (format) => {
    const registry = registries[format]
    const parts: string[] = []
    let slice = 0
    for (const name of names[format]) {
      const part = await registry.getSingleMetricAsString(name)
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

/** The counter under the name of its family: OpenMetrics keeps `_total` for the samples. */
function renamed<T extends object>(metric: T, name: string): T {
  return Object.create(metric, { name: { value: name } }) as T
}

/**
 * What a scraper wants (RFC 9110 section 12.5.1): OpenMetrics when it names that type, in a version that is ours, and does not like text better;
 * else the classic text, also for whoever says nothing.
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
