import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { METRICS, type MetricSpec } from '../../src/telemetry/table.ts'
import { ensureProgram, INSTALL_MS, run } from '../debian.ts'
import { at, type Loose, read, temporaryDirectory, yaml } from './files.ts'

const dashboard = JSON.parse(read('grafana/countersign.json')) as Loose
const specs: readonly MetricSpec[] = Object.values(METRICS)
const rules = yaml('deploy/prometheus/alerts.yaml').groups.flatMap(
  (group: Loose) => group.rules as Loose[],
) as Loose[]
const panels = dashboard.panels as Loose[]
const queries = panels.flatMap((panel) =>
  ((panel.targets ?? []) as Loose[]).map(({ expr }) => expr as string),
)
const variables = dashboard.templating.list as Loose[]

beforeAll(() => ensureProgram('promtool', 'prometheus'), INSTALL_MS)

/** Names of series that the metrics of the table have. */
const series = new Map(
  specs.flatMap((spec): [string, MetricSpec][] =>
    spec.kind === 'histogram'
      ? ['_bucket', '_sum', '_count'].map((end) => [spec.name + end, spec])
      : [[spec.name, spec]],
  ),
)
const named = (text: string): string[] => text.match(/\bcountersign_\w+/g) ?? []

/** Labels of our own metrics, and those that a scrape adds. */
const labelsOf = (spec: MetricSpec): string[] => [...Object.keys(spec.labels), 'instance', 'job', 'le']

function unknownLabels(query: string): string[] {
  const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap((match) => (match[1] ?? '').split(/,\s*/))
  const chosen = [...query.matchAll(/\{([^}]*)\}/g)].flatMap(
    (match) => (match[1] ?? '').match(/\w+(?=\s*[=!])/g) ?? [],
  )
  const known = named(query).flatMap((name) => labelsOf(series.get(name) as MetricSpec))
  return [...grouped, ...chosen].filter((label) => !known.includes(label) && !query.startsWith('up{'))
}

describe('prometheus.yaml', () => {
  it('is accepted by promtool, with its alerts', () => {
    const { status, out } = run('promtool', ['check', 'config', at('deploy/prometheus/prometheus.yaml')])
    expect([status, out]).toEqual([0, expect.stringContaining(`${rules.length} rules found`)])
  })
})

describe('the alerts', () => {
  it('fire when they should and only then', () => {
    const { status, out, err } = run('promtool', ['test', 'rules', 'alerts.test.yaml'], {
      cwd: at('deploy/prometheus'),
    })
    expect({ status, failed: status === 0 ? '' : out + err }).toEqual({ status: 0, failed: '' })
  })

  it('are each tried', () => {
    const tried = yaml('deploy/prometheus/alerts.test.yaml').tests.flatMap((one: Loose) =>
      one.alert_rule_test
        .filter((test: Loose) => test.exp_alerts.length > 0)
        .map((test: Loose) => test.alertname as string),
    ) as string[]
    expect([...new Set(tried)].toSorted()).toEqual(rules.map(({ alert }) => alert as string).toSorted())
  })

  it('ask only for metrics and labels that exist', () => {
    for (const { alert, expr } of rules) {
      expect(
        named(expr).filter((name) => !series.has(name)),
        alert,
      ).toEqual([])
      expect(unknownLabels(expr), alert).toEqual([])
    }
  })
})

describe('the dashboard', () => {
  it('asks only for metrics and labels that exist', () => {
    expect(queries.length).toBeGreaterThan(20)
    for (const query of queries) {
      expect(
        named(query).filter((name) => !series.has(name)),
        query,
      ).toEqual([])
      expect(unknownLabels(query), query).toEqual([])
    }
  })

  it('finds what is wrong (the check itself can fail)', () => {
    expect(unknownLabels('sum by (tool) (rate(countersign_votes_total{colour="red"}[5m]))')).toEqual([
      'tool',
      'colour',
    ])
    expect(series.has('countersign_votes')).toBe(false)
  })

  it('shows every metric of the table', () => {
    const shown = new Set(queries.flatMap(named).map((name) => series.get(name)?.name))
    expect(specs.map(({ name }) => name).filter((name) => !shown.has(name))).toEqual([])
  })

  it('has queries that parse', async () => {
    const file = join(await temporaryDirectory(), 'queries.yaml')
    const parsed = queries.map((expr, index) => ({
      record: `query:${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$tool', '.*'),
    }))
    writeFileSync(file, stringify({ groups: [{ name: 'dashboard', rules: parsed }] }))
    const { status, out, err } = run('promtool', ['check', 'rules', file])
    expect({ status, failed: status === 0 ? '' : out + err }).toEqual({ status: 0, failed: '' })
    expect(queries.filter((expr) => /\$(?!__rate_interval|tool\b)/.test(expr))).toEqual([])
  })

  it('adds up nothing that every gateway counts alike', () => {
    const shared = queries.filter((query) => /countersign_(?:threads_pending|thread_oldest)/.test(query))
    expect(shared.length).toBeGreaterThan(1)
    for (const query of shared) expect(query).toMatch(/max(?: by \(risk\))? ?\(countersign_thread/)
  })

  it('shows places that do not overlap, each with a title and words of its own', () => {
    const cells = new Map<string, string>()
    for (const { title, description, type, gridPos } of panels) {
      expect(title).not.toBe('')
      if (type !== 'row') expect(description, title).toMatch(/\.$/)
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(cells.get(`${x},${y}`), `${title} at ${x},${y}`).toBeUndefined()
          cells.set(`${x},${y}`, title)
        }
      }
    }
    expect(new Set(panels.map(({ id }) => id as number)).size).toBe(panels.length)
  })

  it('reads from the source that is provisioned', () => {
    expect(variables.map(({ name }) => name as string)).toEqual(['datasource', 'tool'])
    const [source] = yaml('deploy/compose/grafana/datasources/prometheus.yaml').datasources
    expect([source.type, source.url]).toEqual(['prometheus', 'http://prometheus:9090'])
    const [provider] = yaml('deploy/compose/grafana/dashboards/countersign.yaml').providers
    const volumes = yaml('deploy/compose/compose.yaml').services.grafana.volumes as string[]
    expect(volumes).toContain(`../../grafana:${provider.options.path}:ro`)
  })
})
