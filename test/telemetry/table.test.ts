import { describe, expect, it } from 'vitest'
import { isOpen, type LabelSet } from '../../src/metrics/labels.ts'
import type { MetricSpec } from '../../src/metrics/metric-spec.ts'
import {
  AREAS,
  MAX_SAMPLES,
  METRICS,
  mostSeries,
  NODE_SAMPLES,
  samplesPerSeries,
} from '../../src/metrics/table.ts'
import { DASHBOARDS, named, panelsOf, SERIES } from '../deploy/promql.ts'

const SPECS = Object.values<MetricSpec>(METRICS)

const UNITS: readonly (readonly [seconds: number, unit: string])[] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
  [0.001, 'ms'],
  [0.000001, 'us'],
]

function duration(seconds: number): string {
  const [size, unit] = UNITS.find(([least]) => seconds >= least) ?? [1, 's']
  return `${Number((seconds / size).toPrecision(3))} ${unit}`
}

const coded = (values: readonly string[]): string => values.map((value) => `\`${value}\``).join(', ')

function labelText([name, set]: [string, LabelSet]): string {
  return `\`${name}\`: ${isOpen(set) ? set.says : coded(set)}`
}

function row(spec: MetricSpec): string {
  const { name, kind, unit, help, labels, buckets = [], exemplar } = spec
  const facts = [
    ...Object.entries<LabelSet>(labels).map(labelText),
    ...(buckets.length === 0 ? [] : [`buckets: ${coded(buckets.map(duration))}`]),
    ...(exemplar === undefined ? [] : [`exemplar: \`${exemplar}\``]),
  ]
  return `| \`${name}\` | ${kind}, ${unit} | ${help} | ${facts.join('<br>')} | ${mostSeries(spec) * samplesPerSeries(spec)} |`
}

const HEAD = `# Metrics

A gateway shows these metrics at \`/metrics\` (\`COUNTERSIGN_METRICS_HOST\`, \`COUNTERSIGN_METRICS_PORT\`), beside Node's own
\`process_\` and \`nodejs_\` metrics. This page is made from src/metrics/table.ts.

- **Take \`max\`, not \`sum\`, over instances** of each metric whose help says that it is the same on every instance. Every
  instance reads these metrics from the store, at most every 5 seconds.
- **Exemplars.** Start Prometheus with \`--enable-feature=exemplar-storage\` to keep exemplars. An exemplar names the
  trace of the call's \`traceparent\`.
- **Formats.** A scraper that sends \`Accept: application/openmetrics-text\` gets OpenMetrics 1.0 with exemplars. Every
  other scraper gets the classic text.
- **At 0 from the start.** All series of closed labels exist at the start, so \`rate()\` sees the first event. Series of
  every tool, rule and route also exist from the start, while there is room for all of them.
- **Bounded.** No label holds a task, thread, agent, reviewer or tenant. The last column is the most samples that a
  metric can have. One instance never shows more than ${MAX_SAMPLES.toLocaleString('en-US')} samples in total, regardless of agents and bundles.
- **\`_other\`** counts tools without a contract. It also counts all observations for which a metric has no free series.
  The log names such a metric once, and \`countersign_metrics_folded_total\` counts the observations.
- **A new bundle** removes the names of the old bundle. If there is no room for the new rules, counts of rules restart
  at 0.

## Adding one

1. Add a row to \`src/metrics/table-*.ts\`.
2. Add the line that records the metric: \`instruments.count\`, \`observe\` or \`set\`. The compiler checks names and closed
   labels.
3. Add a panel in \`grafana/src/\`: every metric is on a dashboard.
4. Run \`npm run dashboards\`, which writes the dashboards and this page.
`

function document(): string {
  const areas = Object.entries<Record<string, MetricSpec>>(AREAS).map(([title, specs]) =>
    [
      `## ${title}`,
      '',
      '| name | kind, unit | what | labels, buckets | samples |',
      '|---|---|---|---|---|',
      ...Object.values(specs).map(row),
      '',
    ].join('\n'),
  )
  return [HEAD, ...areas].join('\n')
}

describe('the metrics table', () => {
  it('is printed in docs/metrics.md', async () => {
    await expect(document()).toMatchFileSnapshot('../../docs/metrics.md')
  })

  it('names follow the conventions: prefix, base units, `_total` for counters only', () => {
    for (const { kind, name, unit, help, buckets } of SPECS) {
      expect(name).toMatch(/^countersign_[a-z_]+$/)
      expect(name.endsWith('_total')).toBe(kind === 'counter')
      if (kind === 'histogram') expect(name).toMatch(/_seconds$/)
      expect(name.endsWith('_seconds')).toBe(unit.startsWith('seconds'))
      expect(buckets !== undefined).toBe(kind === 'histogram')
      expect(help).toMatch(/^[A-Z0-9][^|]*\.$/)
    }
    expect(new Set(SPECS.map(({ name }) => name)).size).toBe(SPECS.length)
  })

  it('every metric has a panel, as grafana/src/ draws them', () => {
    const queries = DASHBOARDS.flatMap(panelsOf).flatMap((panel) => panel.queries)
    const shown = new Set(queries.flatMap(named).map((name) => SERIES.get(name)?.name))
    expect(SPECS.map(({ name }) => name).filter((name) => !shown.has(name))).toEqual([])
  })

  it('no label can contain a task, thread, agent, reviewer or tenant', () => {
    const labels = SPECS.flatMap((spec) => Object.keys(spec.labels))
    expect(labels.filter((label) => /task|thread|agent|reviewer|tenant/.test(label))).toEqual([])
  })

  it('every open label has a bound, and all together stay within the samples of an instance', () => {
    const open = SPECS.filter(({ labels }) => Object.values<LabelSet>(labels).some(isOpen))
    expect(open.filter(({ atMost }) => atMost === undefined)).toEqual([])
    expect(SPECS.filter((spec) => spec.atMost !== undefined && !open.includes(spec))).toEqual([])
    const most = SPECS.reduce((sum, spec) => sum + mostSeries(spec) * samplesPerSeries(spec), 0)
    expect(most + NODE_SAMPLES).toBeLessThanOrEqual(MAX_SAMPLES)
  })
})
