import type { MetricSpec } from '../../src/metrics/metric-spec.ts'
import { METRICS } from '../../src/metrics/table.ts'
import { type Loose, read } from './files.ts'

/** Queries of dashboards and rules, parsed as far as tests need it. */

export const SPECS: readonly MetricSpec[] = Object.values<MetricSpec>(METRICS)

/** Names of series that the metrics of the table have. */
export const SERIES = new Map(
  SPECS.flatMap((spec): [string, MetricSpec][] =>
    spec.kind === 'histogram'
      ? ['_bucket', '_sum', '_count'].map((end) => [spec.name + end, spec])
      : [[spec.name, spec]],
  ),
)

export const named = (text: string): string[] => text.match(/\bcountersign_\w+/g) ?? []

/** Names with our prefix that belong to no metric of the table. */
export const unknownNames = (query: string): string[] => named(query).filter((name) => !SERIES.has(name))

/** Labels that a scrape adds, and the bound of a bucket. */
const EVERYWHERE = ['instance', 'job', 'le']

const labelsOf = (name: string): string[] => Object.keys(SERIES.get(name)?.labels ?? {})

/** Labels by which a query chooses or groups, and which none of its metrics has. */
export function unknownLabels(query: string): string[] {
  const grouped = [...query.matchAll(/\b(?:by|without|on|ignoring) ?\(([^)]*)\)/g)].flatMap((match) =>
    (match[1] ?? '').split(/,\s*/),
  )
  const chosen = [...query.matchAll(/\{([^}]*)\}/g)].flatMap(
    (match) => (match[1] ?? '').match(/\w+(?=\s*(?:=|!=|=~|!~)\s*")/g) ?? [],
  )
  const known = [...EVERYWHERE, ...named(query).flatMap(labelsOf)]
  return [...grouped, ...chosen].filter((label) => label !== '' && !known.includes(label))
}

/** As grafana/dashboards/ has them. */
export const DASHBOARDS = ['overview', 'reviews', 'policy', 'delivery'] as const

export interface Panel {
  readonly board: string
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description: string
  readonly queries: readonly string[]
  readonly raw: Loose
}

export const dashboardOf = (name: string): Loose =>
  JSON.parse(read(`grafana/dashboards/${name}.json`)) as Loose

/** Every panel that shows something. */
export function panelsOf(board: string): Panel[] {
  const panels = dashboardOf(board).panels as Loose[]
  return panels
    .filter(({ type }) => type !== 'row')
    .map((raw) => ({
      board,
      id: raw.id as number,
      type: raw.type as string,
      title: raw.title as string,
      description: raw.description as string,
      queries: (raw.targets as Loose[]).map(({ expr }) => expr as string),
      raw,
    }))
}

/** A query as Prometheus gets it from Grafana: with the time that is shown, and every job and instance chosen. */
export function asked(query: string, window = '1m'): string {
  return query
    .replaceAll('$__rate_interval', window)
    .replaceAll('$__range', window)
    .replaceAll(/\$(?:job|instance)\b/g, '.+')
}
