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

function labelText([name, set]: [string, LabelSet]): string {
  return isOpen(set) ? `\`${name}\`: ${set.says}` : `\`${name}\`: ${set.join(', ')}`
}

function row(spec: MetricSpec): string {
  const { name, kind, unit, help, labels, buckets = [], exemplar } = spec
  const facts = [
    ...Object.entries<LabelSet>(labels).map(labelText),
    ...(buckets.length === 0 ? [] : [`buckets: ${buckets.map(duration).join(', ')}`]),
    ...(exemplar === undefined ? [] : [`exemplar: \`${exemplar}\``]),
  ]
  return `| \`${name}\` | ${kind}, ${unit} | ${help} | ${facts.join('<br>')} | ${mostSeries(spec) * samplesPerSeries(spec)} |`
}

const HEAD = `# Metrics

Everything that a gateway shows at \`/metrics\` (\`COUNTERSIGN_METRICS_HOST\`, \`COUNTERSIGN_METRICS_PORT\`), beside Node's own \`process_\` and \`nodejs_\` metrics. Made
from src/metrics/table.ts.

- **Formats.** OpenMetrics 1.0 with exemplars for a scraper that asks for it (\`Accept: application/openmetrics-text\`), the classic text for every other. To keep
  exemplars start Prometheus with \`--enable-feature=exemplar-storage\`. The trace is the one of the call's \`traceparent\`.
- **Bounded.** No label holds a task, thread, agent, reviewer or tenant. The last column is the most samples a metric can have: one instance never shows more
  than ${MAX_SAMPLES.toLocaleString('en-US')} in all, whatever agents send and bundles hold. A tool without a contract counts as \`_other\`; so does what comes when a metric has all the series that it may
  have: the log names the metric once, and \`countersign_metrics_folded_total\` counts. When a new bundle is in force, names of the old one go;
  where it has more rules than there is room for, counts of rules begin anew.
- **At 0 from the start.** All series of closed labels, those of every tool, rule and route while there is room for all of them: \`rate()\` sees the first event.
- **What every instance counts alike** (its help says so) is read from the store, at most every 5 seconds: take \`max\`, not \`sum\`, over instances.

## Adding one

A row in \`src/telemetry/table-*.ts\`; one line that counts it (\`instruments.count\`, \`observe\` or \`set\`: names and closed labels are checked by the
compiler); a panel in \`grafana/src/\`, because every metric stands on a dashboard; then \`npm run dashboards\` and \`npx vitest run test/telemetry/table.test.ts -u\`.
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

  it('no label can hold a task, thread, agent, reviewer or tenant', () => {
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
