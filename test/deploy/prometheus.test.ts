import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { ensureProgram, INSTALL_MS, run } from '../debian.ts'
import { at, type Loose, read, temporaryDirectory, yaml } from './files.ts'
import { DASHBOARDS, dashboardOf, named, SERIES, unknownLabels, unknownNames } from './promql.ts'
import { ALERTS, RECORDED, RULE_FILES, RULES } from './rules.ts'

const FOLDER = 'deploy/prometheus'
const testFiles = readdirSync(at(`${FOLDER}/tests`))
const tests = testFiles.flatMap((file) =>
  (yaml(`${FOLDER}/tests/${file}`).tests as Loose[]).flatMap((one) => one.alert_rule_test as Loose[]),
)

beforeAll(() => ensureProgram('promtool', 'prometheus'), INSTALL_MS)

describe('prometheus.yaml', () => {
  it('passes promtool with all of its rules', () => {
    const { status, out } = run('promtool', ['check', 'config', at(`${FOLDER}/prometheus.yaml`)])
    expect(status).toBe(0)
    const found = [...out.matchAll(/(\d+) rules found/g)].reduce((sum, [, count]) => sum + Number(count), 0)
    expect(found).toBe(RULES.length)
    expect(yaml(`${FOLDER}/prometheus.yaml`).rule_files).toEqual(RULE_FILES)
  })
})

/** Seconds in a duration of Prometheus with one unit. */
const seconds = (text: string): number =>
  Number.parseInt(text, 10) * ({ s: 1, m: 60, h: 3_600, d: 86_400 }[text.slice(-1)] ?? Number.NaN)

describe('the alerts', () => {
  it('the alerts fire when they should, and only then', () => {
    const { status, out, err } = run('promtool', ['test', 'rules', ...testFiles], {
      cwd: at(`${FOLDER}/tests`),
    })
    expect({ status, failed: status === 0 ? '' : out + err }).toEqual({ status: 0, failed: '' })
  })

  it('the alerts are reported when they fire too late or too early (the check itself can fail)', async () => {
    const copy = await temporaryDirectory()
    cpSync(at(FOLDER), copy, { recursive: true })
    const rules = readFileSync(join(copy, 'alerts.yaml'), 'utf8')
    const wrongs = [
      ['> 4 * 3600', '> 5 * 3600'],
      ['> 4 * 3600', '> 3 * 3600'],
    ] as const
    for (const [right, wrong] of wrongs) {
      expect(rules).toContain(right)
      writeFileSync(join(copy, 'alerts.yaml'), rules.replace(right, wrong))
      const { status, out, err } = run('promtool', ['test', 'rules', 'reviews.yaml'], {
        cwd: join(copy, 'tests'),
      })
      expect([status, out + err]).toEqual([1, expect.stringContaining('CountersignReviewsWait')])
    }
  })

  it('the alerts have one test that fires, with all of their text, and one that stays silent', () => {
    const names = ALERTS.map(({ alert }) => alert).toSorted()
    const tried = (fires: boolean): string[] => {
      const fitting = tests.filter((test) => test.exp_alerts.length > 0 === fires)
      return [...new Set(fitting.map((test) => test.alertname as string))].toSorted()
    }
    expect(tried(true)).toEqual(names)
    expect(tried(false)).toEqual(names)
    const fired = tests.flatMap((test) => test.exp_alerts as Loose[])
    for (const one of fired) expect(one.exp_annotations.summary, JSON.stringify(one)).toMatch(/\.$/)
  })

  it('the alerts have a severity, and describe the problem in one sentence', () => {
    for (const { alert, labels, annotations } of ALERTS) {
      expect(alert).toMatch(/^Countersign[A-Z]/)
      expect(['page', 'ticket'], alert).toContain(labels?.['severity'])
      expect(annotations?.['summary'], alert).toMatch(/^[^.]+.*\.$/)
    }
    expect(new Set(ALERTS.map(({ alert }) => alert)).size).toBe(ALERTS.length)
  })
})

describe('all rules', () => {
  it('all rules query only metrics and labels that exist', () => {
    for (const { expr } of RULES) {
      const ours = expr.replaceAll(/\bcountersign:[\w:]+/g, '1')
      expect([expr, unknownNames(ours), unknownLabels(ours)]).toEqual([expr, [], []])
      for (const name of expr.match(/\bcountersign:[\w:]+/g) ?? []) expect(RECORDED, expr).toContain(name)
    }
  })

  it('all rules query only existing histogram buckets, in a form that every Prometheus matches', () => {
    const asking = RULES.flatMap(({ expr }) => [
      ...expr.matchAll(/(countersign_\w+)_bucket\{[^}]*\ble="([^"]+)"/g),
    ])
    expect(asking.length).toBeGreaterThan(5)
    for (const [, name = '', le] of asking) {
      expect(SERIES.get(`${name}_bucket`)?.buckets?.map(String), name).toContain(le)
      // Prometheus 3 writes 1.0 where others write 1
      expect(le).toMatch(/\./)
    }
  })

  it('the quantile rules compare only with a bucket bound, because values in between are interpolated', () => {
    const asking = RULES.flatMap(({ expr }) => [
      ...expr.matchAll(/^histogram_quantile\(.*\((countersign_\w+)_bucket\b.*> (\S+)$/g),
    ])
    expect(asking.length).toBeGreaterThan(0)
    expect(RULES.filter(({ expr }) => expr.includes('histogram_quantile'))).toHaveLength(asking.length)
    for (const [expr, name = '', least] of asking)
      expect(SERIES.get(`${name}_bucket`)?.buckets, expr).toContain(Number(least))
  })

  it('all rules cover at least four scrapes', () => {
    const every = seconds(String((yaml(`${FOLDER}/prometheus.yaml`).global as Loose).scrape_interval))
    for (const { expr } of RULES)
      for (const [, window = ''] of expr.matchAll(/\[(\w+)\]/g))
        expect(seconds(window), expr).toBeGreaterThanOrEqual(4 * every)
  })

  it('the recording rules record each objective over the same windows', () => {
    const windows = ['5m', '30m', '1h', '2h', '6h', '1d', '3d']
    const long = ['1h', '6h', '1d', '3d']
    const objectives = ['availability', 'latency']
    expect(RECORDED).toEqual(
      objectives.flatMap((name) => [
        ...windows.map((window) => `countersign:${name}_errors:ratio_rate${window}`),
        ...long.map((window) => `countersign:${name}_errors:increase${window}`),
      ]),
    )
    for (const { record = '', expr } of RULES.filter((rule) => rule.record !== undefined)) {
      const asked = [...expr.matchAll(/\[(\w+)\]/g)].map(([, window]) => window)
      expect(new Set(asked), record).toEqual(new Set([/(?:rate|increase)(\w+)$/.exec(record)?.[1]]))
    }
  })
})

describe('docs/runbooks', () => {
  const pages = readdirSync(at('docs/runbooks')).filter((name) => name !== 'README.md')
  const titles = DASHBOARDS.flatMap((board) => {
    const { title, panels } = dashboardOf(board)
    const short = (title as string).replace('Countersign / ', '')
    return [title as string, short, ...(panels as Loose[]).map((panel) => panel.title as string)]
  })

  it('has a page for each alert, which links to it, and an alert for each page', () => {
    expect(pages.toSorted()).toEqual(ALERTS.map(({ alert }) => `${alert}.md`).toSorted())
    for (const { alert, annotations } of ALERTS)
      expect(annotations?.['runbook_url'], alert).toBe(`docs/runbooks/${alert}.md`)
  })

  it.each(pages)(
    '%s explains the meaning, where to look, the causes, what to do and what to avoid',
    (page) => {
      const text = read(`docs/runbooks/${page}`)
      const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading)
      expect(headings).toEqual([
        page.replace('.md', ''),
        'What it means',
        'First look',
        'Likely causes',
        'What to do',
        'What not to do',
      ])
      for (const part of text.split(/^## /m).slice(1))
        expect(part.split('\n').slice(1).join('').length, part).toBeGreaterThan(30)
    },
  )

  it('names only panels and metrics that exist', () => {
    const sent = pages.flatMap((page) => {
      const text = read(`docs/runbooks/${page}`)
      return [...text.matchAll(/(?<![*\w])\*([A-Z][^*\n]+)\*(?!\*)/g)].map(([, title = '']) => title)
    })
    expect(sent.length).toBeGreaterThan(30)
    expect(sent.filter((title) => !titles.includes(title))).toEqual([])
    const names = pages.flatMap((page) => named(read(`docs/runbooks/${page}`)))
    expect(names.filter((name) => !SERIES.has(name))).toEqual([])
  })

  it('README.md lists them', async () => {
    const rows = ALERTS.map(
      ({ alert, labels, annotations }) =>
        `| [${alert}](${alert}.md) | \`${labels?.['severity']}\` | ${annotations?.['summary']} |`,
    )
    const text = `# Runbooks

This folder has one page for each alert of deploy/prometheus/. Each page explains the alert and lists where to look
first, likely causes, what to do, and what to avoid. An alert with \`page\` wakes the engineer on duty; an alert with
\`ticket\` is work for today.

An agent without an answer does not execute the call. A failure of Countersign stops agents and never lets a call
through, so you have time to investigate. Look at the board *Countersign / Overview* first.
[Compose](../../deploy/README.md) provisions the [boards](../../grafana/dashboards); without Compose, import them.

Commands send their requests to the gateway in \`COUNTERSIGN_URL\` (default \`http://127.0.0.1:8787\`), with the admin key
in \`COUNTERSIGN_ADMIN_KEY\`. The command \`review\` needs a reviewer's key in \`COUNTERSIGN_REVIEWER_KEY\`. \`check\`, \`doctor\`
and \`store\` run on the host of the gateway, with its settings; [Deploy](../../deploy/README.md) shows how, for systemd,
compose and Kubernetes.

| alert | | summary |
|---|---|---|
${rows.join('\n')}
`
    await expect(text).toMatchFileSnapshot('../../docs/runbooks/README.md')
  })
})
