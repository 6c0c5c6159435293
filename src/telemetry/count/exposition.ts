import { setImmediate as nextTurn } from 'node:timers/promises'
import { Counter, type Metric, type OpenMetricsContentType, Registry } from 'prom-client'
import type { Sample } from './cells.ts'

/**
 * The two texts of `/metrics`. prom-client 15 writes one of them for each registry, and renames counters for good when it writes OpenMetrics:
 * so each format has a registry of its own, which knows each metric by the name that it has there.
 */
export type Format = 'openmetrics' | 'text'

export interface Exposition {
  readonly contentType: string
  readonly text: string
}

/** A metric of ours, with all of its series. */
export interface Family {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly samples: () => readonly Sample[]
}

/** Characters after which others get a turn: a scrape must not hold up decisions. */
const SLICE_CHARS = 32_768

/** Writes out, in slices, our metrics and those that Node's registry has until now. */
export function createExposition(
  families: readonly Family[],
  node: Registry,
  turn: () => Promise<unknown> = () => nextTurn(),
): (format: Format) => Promise<Exposition> {
  const registries = { openmetrics: new Registry<OpenMetricsContentType>(), text: new Registry() }
  registries.openmetrics.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  const names: Record<Format, string[]> = { openmetrics: [], text: [] }
  const show = (format: Format, metric: Metric, name: string): void => {
    registries[format].registerMetric(metric)
    names[format].push(name)
  }
  for (const family of families) {
    show('text', shownAs(family, family.name), family.name)
    const name = family.type === 'counter' ? familyName(family.name) : family.name
    show('openmetrics', shownAs(family, name), name)
  }
  for (const { name } of node.getMetricsAsArray()) {
    const metric = node.getSingleMetric(name)
    if (metric === undefined) continue
    show('text', metric, name)
    if (metric instanceof Counter) show('openmetrics', renamed(metric, familyName(name)), familyName(name))
    else show('openmetrics', metric, name)
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

/** OpenMetrics keeps `_total` for the samples, and prom-client adds it there. */
const familyName = (name: string): string => name.replace(/_total$/, '')

/** All that a registry asks of a metric: its name, and what `get` resolves to. */
function shownAs({ type, help, samples }: Family, name: string): Metric {
  const get = () => Promise.resolve({ name, help, type, values: samples() })
  return { name, get } as unknown as Metric
}

/** The counter under another name, which reads and counts what the first does. */
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
