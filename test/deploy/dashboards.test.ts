import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { ensureProgram, INSTALL_MS, run } from '../debian.ts'
import { type Loose, temporaryDirectory, yaml } from './files.ts'
import {
  asked,
  dashboardOf,
  DASHBOARDS,
  named,
  panelsOf,
  SPECS,
  unknownLabels,
  unknownNames,
} from './promql.ts'

const panels = DASHBOARDS.flatMap(panelsOf)
const queries = panels.flatMap((panel) => panel.queries)
const variables = DASHBOARDS.flatMap((board) => dashboardOf(board).templating.list as Loose[])

beforeAll(() => ensureProgram('promtool', 'prometheus'), INSTALL_MS)

describe('grafana/dashboards', () => {
  it('is provisioned: the data source and the directory that compose mounts', () => {
    const [source] = yaml('grafana/provisioning/datasources/prometheus.yaml').datasources
    expect([source.type, source.url]).toEqual(['prometheus', 'http://prometheus:9090'])
    const [provider] = yaml('grafana/provisioning/dashboards/countersign.yaml').providers
    const volumes = yaml('deploy/compose/compose.yaml').services.grafana.volumes as string[]
    expect(volumes).toEqual(
      expect.arrayContaining([
        '../../grafana/provisioning/datasources:/etc/grafana/provisioning/datasources:ro',
        '../../grafana/provisioning/dashboards:/etc/grafana/provisioning/dashboards:ro',
        `../../grafana/dashboards:${provider.options.path}:ro`,
      ]),
    )
  })
})

describe('the queries', () => {
  it('the queries use only metrics and labels that exist', () => {
    expect(queries.length).toBeGreaterThan(60)
    for (const query of queries)
      expect([query, unknownNames(query), unknownLabels(query)]).toEqual([query, [], []])
  })

  it('reports errors (the check itself can fail)', () => {
    expect(unknownLabels('sum by (tool) (rate(countersign_votes_total{colour="red"}[5m]))')).toEqual([
      'tool',
      'colour',
    ])
    expect(unknownNames('rate(countersign_votes[5m])')).toEqual(['countersign_votes'])
  })

  it('parse', async () => {
    const file = join(await temporaryDirectory(), 'queries.yaml')
    const rules = queries.map((expr, index) => ({ record: `query:${index}`, expr: asked(expr) }))
    writeFileSync(file, stringify({ groups: [{ name: 'dashboards', rules }] }))
    const { status, out, err } = run('promtool', ['check', 'rules', file])
    expect({ status, failed: status === 0 ? '' : out + err }).toEqual({ status: 0, failed: '' })
    expect(queries.filter((query) => asked(query).includes('$'))).toEqual([])
  })

  it('the queries do not add up a metric that every gateway counts alike', () => {
    const alike = SPECS.filter(({ help }) => /same on every instance|instance counts all/.test(help)).map(
      ({ name }) => name,
    )
    expect(alike.length).toBeGreaterThan(4)
    const asking = queries.filter((query) => named(query).some((name) => alike.includes(name)))
    expect(asking.length).toBeGreaterThan(alike.length)
    for (const query of asking)
      for (const name of named(query).filter((one) => alike.includes(one)))
        expect(query).toMatch(new RegExp(`max(?: by \\([a-z, ]+\\) )?\\(${name}`))
  })
})

/** The rules of Grafana's dashboard linter that its documentation names, as far as they speak of what is here. */
describe('each dashboard', () => {
  it.each(DASHBOARDS)(
    '%s is read-only and has a stable id, and lets users choose source, job and instance',
    (name) => {
      const board = dashboardOf(name)
      expect([board.editable, board.uid]).toEqual([false, `countersign-${name}`])
      const [source, job, instance] = board.templating.list as Loose[]
      expect([source.name, source.label, source.type, source.query]).toEqual([
        'datasource',
        'Data source',
        'datasource',
        'prometheus',
      ])
      for (const [variable, label] of [
        [job, 'Job'],
        [instance, 'Instance'],
      ]) {
        expect(variable).toMatchObject({
          name: label.toLowerCase(),
          label,
          type: 'query',
          datasource: { type: 'prometheus', uid: '${datasource}' },
          includeAll: true,
          allValue: '.+',
          multi: true,
          refresh: 2,
        })
      }
      expect(variables).toHaveLength(DASHBOARDS.length * 3)
    },
  )

  it.each(DASHBOARDS)('%s has panels with their own place, id and text', (name) => {
    const cells = new Map<string, string>()
    const all = dashboardOf(name).panels as Loose[]
    for (const { title, gridPos } of all) {
      expect(title).not.toBe('')
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(cells.get(`${x},${y}`), `${title} at ${x},${y}`).toBeUndefined()
          cells.set(`${x},${y}`, title)
        }
      }
    }
    expect(new Set(all.map(({ id }) => id as number)).size).toBe(all.length)
    const titles = all.map(({ title }) => title as string)
    expect(new Set(titles).size).toBe(titles.length)
  })

  it('gives each panel a description, a unit, and the chosen data source', () => {
    for (const { title, description, raw } of panels) {
      expect(description, title).toMatch(/^.{15,}\.$/)
      expect(raw.fieldConfig.defaults.unit, title).toMatch(/./)
      expect(raw.datasource, title).toEqual({ type: 'prometheus', uid: '${datasource}' })
      for (const target of raw.targets as Loose[]) {
        expect(target.datasource, title).toEqual(raw.datasource)
        expect(target.legendFormat, title).toMatch(/./)
      }
    }
  })

  it('filters by job and instance, and reads counters as rates over a suitable window', () => {
    for (const query of queries) {
      const selectors = query.match(/\b\w+\{/g) ?? []
      expect(selectors.length, query).toBeGreaterThan(0)
      expect(query.match(/\{job=~"\$job",instance=~"\$instance"/g)?.length, query).toBe(selectors.length)
      for (const name of named(query).filter((one) => /_(?:total|count|sum|bucket)$/.test(one)))
        expect(query, query).toMatch(new RegExp(`(?:rate|increase)\\(${name}\\{`))
      for (const [, window] of query.matchAll(/\[([^\]]+)\]/g))
        expect(['$__rate_interval', '$__range'], query).toContain(window)
    }
  })
})
