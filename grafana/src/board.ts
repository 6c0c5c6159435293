import * as common from '@grafana/grafana-foundation-sdk/common'
import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard'
import * as prometheus from '@grafana/grafana-foundation-sdk/prometheus'
import * as stat from '@grafana/grafana-foundation-sdk/stat'
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries'
import { METRICS } from '../../src/metrics/table.ts'

/** A short description of a dashboard. This module builds the parts that all dashboards share. */
export interface Board {
  readonly uid: string
  readonly title: string
  readonly description: string
  readonly rows: readonly Row[]
}

export interface Row {
  readonly title: string
  readonly panels: readonly PanelSpec[]
}

export interface PanelSpec {
  readonly title: string
  /** One sentence for an operator who sees the panel for the first time, at night. */
  readonly description: string
  readonly unit: 's' | 'short' | 'reqps' | 'ops' | 'percentunit' | 'bytes' | 'dateTimeFromNow'
  /** Shows a number instead of a curve. */
  readonly stat?: true
  /** Width in 24 columns. Default: a third, or a sixth for a number. */
  readonly width?: number
  /** Green below the first, yellow below the second, red from there. */
  readonly limits?: readonly [yellow: number, red: number]
  readonly stacked?: true
  /** Draws exemplars, which link to the trace. */
  readonly exemplars?: true
  readonly queries: readonly (readonly [expr: string, legend: string])[]
}

const SOURCE = { type: 'prometheus', uid: '${datasource}' }
const STAT_HEIGHT = 4
const CURVE_HEIGHT = 8

export function build({ uid, title, description, rows }: Board): dashboard.Dashboard {
  const builder = new dashboard.DashboardBuilder(title)
    .uid(uid)
    .description(description)
    .tags(['countersign'])
    .readonly()
    .timezone('browser')
    .time({ from: 'now-6h', to: 'now' })
    .refresh('30s')
    .tooltip(dashboard.DashboardCursorSync.Crosshair)
    .link(
      new dashboard.DashboardLinkBuilder('Countersign')
        .type(dashboard.DashboardLinkType.Dashboards)
        .tags(['countersign'])
        .includeVars(true)
        .keepTime(true),
    )
    .withVariable(
      new dashboard.DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'),
    )
    .withVariable(choice('job', `label_values(${METRICS.build.name}, job)`))
    .withVariable(choice('instance', `label_values(${METRICS.build.name}{job=~"$job"}, instance)`))
  for (const row of rows) {
    builder.withRow(new dashboard.RowBuilder(row.title))
    for (const spec of row.panels) builder.withPanel(panelOf(spec))
  }
  return numbered(builder.build())
}

function choice(name: string, query: string): dashboard.QueryVariableBuilder {
  return new dashboard.QueryVariableBuilder(name)
    .label(name === 'job' ? 'Job' : 'Instance')
    .datasource(SOURCE)
    .query({ query, refId: name })
    .definition(query)
    .refresh(dashboard.VariableRefresh.OnTimeRangeChanged)
    .sort(dashboard.VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .allValue('.+')
    .current({ selected: true, text: ['All'], value: ['$__all'] })
}

function panelOf(spec: PanelSpec): stat.PanelBuilder | timeseries.PanelBuilder {
  const panel = spec.stat === true ? number(spec) : curve(spec)
  panel
    .title(spec.title)
    .description(spec.description)
    .datasource(SOURCE)
    .unit(spec.unit)
    .height(spec.stat === true ? STAT_HEIGHT : CURVE_HEIGHT)
    .span(spec.width ?? (spec.stat === true ? 4 : 8))
    .thresholds(thresholdsOf(spec))
  for (const [at, [expr, legend]] of spec.queries.entries()) {
    const query = new prometheus.DataqueryBuilder()
      .refId(String.fromCharCode('A'.charCodeAt(0) + at))
      .datasource(SOURCE)
      .expr(expr)
      .legendFormat(legend)
      .editorMode(prometheus.QueryEditorMode.Code)
    if (spec.exemplars === true) query.exemplar(true)
    if (spec.stat === true) query.instant()
    else query.range()
    panel.withTarget(query)
  }
  return panel
}

function number({ limits }: PanelSpec): stat.PanelBuilder {
  return new stat.PanelBuilder()
    .graphMode(common.BigValueGraphMode.None)
    .colorMode(limits === undefined ? common.BigValueColorMode.None : common.BigValueColorMode.Background)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']))
}

function curve({ stacked, limits }: PanelSpec): timeseries.PanelBuilder {
  const style =
    limits === undefined ? common.GraphThresholdsStyleMode.Off : common.GraphThresholdsStyleMode.Dashed
  return new timeseries.PanelBuilder()
    .min(0)
    .lineWidth(1)
    .fillOpacity(stacked === true ? 20 : 0)
    .showPoints(common.VisibilityMode.Never)
    .stacking(
      new common.StackingConfigBuilder().mode(
        stacked === true ? common.StackingMode.Normal : common.StackingMode.None,
      ),
    )
    .thresholdsStyle(new common.GraphThresholdsStyleConfigBuilder().mode(style))
    .legend(
      new common.VizLegendOptionsBuilder()
        .displayMode(common.LegendDisplayMode.List)
        .placement(common.LegendPlacement.Bottom)
        .showLegend(true),
    )
    .tooltip(new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi))
}

function thresholdsOf({ limits }: PanelSpec): dashboard.ThresholdsConfigBuilder {
  const [yellow, red] = limits ?? []
  const steps: dashboard.Threshold[] = [{ value: null, color: 'green' }]
  if (yellow !== undefined) steps.push({ value: yellow, color: 'yellow' })
  if (red !== undefined) steps.push({ value: red, color: 'red' })
  return new dashboard.ThresholdsConfigBuilder().mode(dashboard.ThresholdsMode.Absolute).steps(steps)
}

/** Numbers the panels: the builder gives them no ids, and links to panels need ids. */
function numbered(built: dashboard.Dashboard): dashboard.Dashboard {
  for (const [at, panel] of (built.panels ?? []).entries()) panel.id = at + 1
  return built
}
