/*
 * A gateway for bench/metrics.mjs, from the compiled sources. The mode `on` uses the gateway's metrics, and `off` a
 * substitute that counts nothing. The mode `switching` uses metrics in every other slice of 300 answers. When a
 * switching gateway exits, it writes the processor time per answer in each slice to the file that the next argument
 * names.
 */
import { writeFileSync } from 'node:fs'
import { startApp } from '../dist/app.js'
import { loadConfig } from '../dist/settings/config.js'
import { createLog } from '../dist/telemetry/log/log.js'
import { createMetrics } from '../dist/telemetry/count/metrics.js'

const [mode, report, ...args] = process.argv.slice(2)
const SLICE_ANSWERS = 300
const nothing = () => undefined
const NEEDED = {
  shadowCounts: new Map(),
  observed: (store) => store,
  scrape: () => Promise.resolve({ contentType: 'text/plain', text: '' }),
}
/** Metrics that count nothing. */
const COUNTS_NOTHING = new Proxy(NEEDED, { get: (needed, name) => needed[name] ?? nothing })

/**
 * Metrics that count during every other slice of answers. Two adjacent slices are a pair, and their order alternates
 * from pair to pair, so that disturbances of the machine affect both equally.
 */
function switching(sources) {
  const metrics = createMetrics(sources)
  const slices = []
  let answers = 0
  let on = true
  let since = process.cpuUsage()
  const flip = () => {
    const { user, system } = process.cpuUsage(since)
    slices.push({ on, cpu: (user + system) / SLICE_ANSWERS })
    answers = 0
    on = slices.length % 4 === 0 || slices.length % 4 === 3
    since = process.cpuUsage()
  }
  process.once('SIGTERM', () => writeFileSync(report, JSON.stringify(slices)))
  return {
    ...metrics,
    observe: (observation) => on && metrics.observe(observation),
    observeHttp: (request) => {
      if (on) metrics.observeHttp(request)
      answers += 1
      if (answers === SLICE_ANSWERS) flip()
    },
  }
}

const IN_PLACE = { on: createMetrics, off: () => COUNTS_NOTHING, switching }
const { config } = loadConfig({ args, parseYaml: nothing })
const app = await startApp(config, { log: createLog('info'), createMetrics: IN_PLACE[mode] })
console.log(JSON.stringify({ msg: 'listening', url: app.url, metrics: app.metricsUrl }))
process.once('SIGTERM', () => void app.close())
