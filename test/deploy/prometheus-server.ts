import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { until } from '../until.ts'
import { at, type Loose, temporaryDirectory } from './files.ts'
import { freePort } from '../ports.ts'
import { RULE_FILES } from './rules.ts'

/** A real Prometheus on loopback that scrapes one gateway every second and evaluates our rules. */
export class PrometheusServer {
  readonly #url: string
  readonly #process: ChildProcess

  private constructor(url: string, process: ChildProcess) {
    this.#url = url
    this.#process = process
  }

  static async start(metricsUrl: string): Promise<PrometheusServer> {
    const directory = await temporaryDirectory()
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: RULE_FILES.map((file) => at(`deploy/prometheus/${file}`)),
      scrape_configs: [
        { job_name: 'countersign', static_configs: [{ targets: [new URL(metricsUrl).host] }] },
      ],
    }
    writeFileSync(join(directory, 'prometheus.yaml'), stringify(config))
    const port = await freePort()
    const child = spawn(
      'prometheus',
      [
        `--config.file=${join(directory, 'prometheus.yaml')}`,
        `--storage.tsdb.path=${join(directory, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--enable-feature=exemplar-storage',
        '--log.level=error',
      ],
      { stdio: 'ignore' },
    )
    const server = new PrometheusServer(`http://127.0.0.1:${port}`, child)
    await until(async () => (await fetch(`${server.#url}/-/ready`).catch(() => undefined))?.ok === true)
    return server
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve))
    this.#process.kill('SIGKILL')
    await ended
  }

  async #get(path: string, query: Record<string, string> = {}): Promise<Loose> {
    const response = await fetch(`${this.#url}/api/v1/${path}?${new URLSearchParams(query).toString()}`)
    return (await response.json()) as Loose
  }

  /** Why a query shows nothing; undefined when it shows at least one number. */
  async problemOf(query: string): Promise<string | undefined> {
    const { status, error, data } = await this.#get('query', { query })
    if (status !== 'success') return `is refused: ${error as string}`
    const series = data.result as Loose[]
    if (series.length === 0) return 'finds nothing'
    return series.every(({ value }) => value[1] === 'NaN') ? 'finds no number' : undefined
  }

  /** Values that `label_values(metric, label)` of a dashboard returns. */
  async valuesOf(definition: string): Promise<readonly string[]> {
    const [, metric = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(definition) ?? []
    const { data } = await this.#get(`label/${label}/values`, { 'match[]': metric })
    return (data ?? []) as string[]
  }

  /** The one number that a query gives. */
  async numberOf(query: string): Promise<number> {
    const { data } = await this.#get('query', { query })
    return Number((data?.result as Loose[])?.[0]?.value[1] ?? Number.NaN)
  }

  /** Labels of the exemplars of a series in the last hour. */
  async exemplarsOf(query: string): Promise<readonly Readonly<Record<string, string>>[]> {
    const now = Date.now() / 1000
    const { data } = await this.#get('query_exemplars', {
      query,
      start: String(now - 3_600),
      end: String(now + 60),
    })
    return (data as Loose[]).flatMap(({ exemplars }) => (exemplars as Loose[]).map(({ labels }) => labels))
  }

  /** Every rule that was loaded, with what became of its last evaluation. */
  async rules(): Promise<readonly { name: string; health: string; lastError?: string }[]> {
    const { data } = await this.#get('rules')
    return (data.groups as Loose[]).flatMap(({ rules }) => rules as Loose[])
  }
}
