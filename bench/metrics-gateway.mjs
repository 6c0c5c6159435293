/*
 * A gateway for bench/metrics.mjs, from the compiled sources: `on` with its metrics, `off` with something in their place that counts nothing.
 * Both run the same code otherwise.
 */
import { startApp } from '../dist/app.js'
import { loadConfig } from '../dist/config.js'
import { createLog } from '../dist/telemetry/log.js'

const [mode, ...args] = process.argv.slice(2)
const nothing = () => undefined
const COUNTS_NOTHING = {
  shadowCounts: new Map(),
  observe: nothing,
  observeHttp: nothing,
  observeAborted: nothing,
  observeDelivery: nothing,
  observeLoad: nothing,
  observed: (store) => store,
  observeTimer: nothing,
  expectRoute: nothing,
  scrape: () => Promise.resolve({ contentType: 'text/plain', text: '' }),
}
const { config } = loadConfig({ args, parseYaml: nothing })
const parts = mode === 'off' ? { createMetrics: () => COUNTS_NOTHING } : {}
const app = await startApp(config, { log: createLog('info'), ...parts })
console.log(JSON.stringify({ msg: 'listening', url: app.url, metrics: app.metricsUrl }))
process.once('SIGTERM', () => void app.close())
