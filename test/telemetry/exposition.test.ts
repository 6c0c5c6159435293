import { get } from 'node:http'
import { Counter, Gauge } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { createExposition, formatFor } from '../../src/telemetry/count/exposition.ts'
import { listenForOperators } from '../../src/telemetry/metrics-listener.ts'

describe('the metrics page for a scraper', () => {
  const PROMETHEUS_2 =
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'
  const PROMETHEUS_3 =
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1'

  it.each([
    ['openmetrics', PROMETHEUS_2],
    ['openmetrics', PROMETHEUS_3],
    ['openmetrics', 'application/openmetrics-text'],
    ['openmetrics', 'Application/OpenMetrics-Text; Version="1.0.0"; Charset=utf-8'],
    ['openmetrics', 'text/plain, application/openmetrics-text'],
    ['text', undefined],
    ['text', ''],
    ['text', '*/*'],
    ['text', 'text/plain'],
    ['text', 'text/plain;version=0.0.4;q=0.5,*/*;q=0.1'],
    ['text', 'application/openmetrics-text;q=0.3,text/plain;q=0.4'],
    ['text', 'application/openmetrics-text;version=0.0.1'],
    ['text', 'application/openmetrics-text;q=0'],
    ['text', 'application/openmetrics-text;q=plenty'],
    ['text', 'application/json'],
  ] as const)('has the format %s for Accept: %s', (format, accept) => {
    expect(formatFor(accept)).toBe(format)
  })

  const ready = () => Promise.resolve({ ready: true })
  const broken = () => Promise.reject(new Error('broken'))

  it('is served with its content type; every other page or method is 404', async () => {
    const asked: string[] = []
    const scrape = (format: string) => {
      asked.push(format)
      return Promise.resolve({ contentType: `text/plain; is=${format}`, text: 'x 1\n' })
    }
    const listener = await listenForOperators({ scrape, ready }, { host: '127.0.0.1', port: 0 })
    const url = `http://127.0.0.1:${listener.port}/metrics`
    try {
      const answer = await fetch(url, { headers: { accept: PROMETHEUS_2 } })
      expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
        200,
        'text/plain; is=openmetrics',
        'x 1\n',
      ])
      expect((await fetch(url)).headers.get('content-type')).toBe('text/plain; is=text')
      expect((await fetch(url, { method: 'POST' })).status).toBe(404)
      expect((await fetch(`${url}/more`)).status).toBe(404)
      expect((await fetch(`${url}?job=a`)).status, 'params of a scrape job').toBe(200)
      expect(asked).toEqual(['openmetrics', 'text', 'text'])
    } finally {
      await listener.close()
    }
  })

  it('is read under an address, a private name or a given name, and 421 under the name of a stranger', async () => {
    const scrape = () => Promise.resolve({ contentType: 'text/plain', text: 'x 1\n' })
    const place = { host: '127.0.0.1', port: 0, names: ['metrics.example.com'] }
    const listener = await listenForOperators({ scrape, ready }, place)
    const statusFor = (host: string): Promise<readonly [number | undefined, unknown]> =>
      new Promise((resolve, reject) => {
        const { port } = listener
        get({ host: '127.0.0.1', port, path: '/metrics', agent: false, headers: { host } }, (response) => {
          response.resume()
          resolve([response.statusCode, response.headers['x-content-type-options']])
        }).on('error', reject)
      })
    try {
      const known = [
        '127.0.0.1:9464',
        '[::1]:9464',
        'localhost:9464',
        'gateway-1:9464',
        'a.b.svc.cluster.local',
      ]
      for (const host of [...known, 'Metrics.Example.com:9464'])
        expect(await statusFor(host), host).toEqual([200, 'nosniff'])
      for (const host of [
        'evil.example:9464',
        '127.0.0.1.evil.example',
        'localhost.',
        'x@evil.example',
        '1.2.3',
      ])
        expect(await statusFor(host), host).toEqual([421, 'nosniff'])
    } finally {
      await listener.close()
    }
  })

  it('is 503 when it cannot be written', async () => {
    const listener = await listenForOperators(
      { scrape: broken, ready: broken },
      { host: '127.0.0.1', port: 0 },
    )
    try {
      for (const page of ['metrics', 'readyz'])
        expect((await fetch(`http://127.0.0.1:${listener.port}/${page}`)).status).toBe(503)
    } finally {
      await listener.close()
    }
  })
})

describe('writing', () => {
  const HELP = 'Of the test.'

  it('yields after every few hundred samples, so that no scrape delays a decision', async () => {
    const gauges = Array.from({ length: 20 }, (_, i) => {
      const gauge = new Gauge({ name: `a_gauge_${i}`, help: HELP, labelNames: ['which'], registers: [] })
      for (let n = 0; n < 500; n++) gauge.set({ which: `a-name-as-long-as-those-of-rules-are-${n}` }, n)
      return gauge
    })
    let turns = 0
    const expose = createExposition(gauges, () => Promise.resolve(void turns++))
    const { text } = await expose('text')
    expect(text.split('\n').filter((line) => line.startsWith('a_gauge'))).toHaveLength(20 * 500)
    expect(turns).toBeGreaterThanOrEqual(10)
  })

  it('shows the current value of a counter in both formats', async () => {
    const counter = new Counter({ name: 'things_total', help: HELP, registers: [] })
    counter.inc(2)
    const expose = createExposition([counter])
    expect((await expose('openmetrics')).text).toBe(
      '# HELP things Of the test.\n# TYPE things counter\nthings_total 2\n# EOF\n',
    )
    counter.inc()
    expect((await expose('text')).text).toBe(
      '# HELP things_total Of the test.\n# TYPE things_total counter\nthings_total 3\n',
    )
  })
})
