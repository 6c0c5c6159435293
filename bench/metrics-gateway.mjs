/*
 * A gateway for bench/metrics.mjs, from the compiled sources. `on`: with its metrics. `off`: with something in their place that counts nothing.
 * `switching`: back and forth between the two a few times a second, in one process; at its end it writes to the file that is named next how much
 * processor time which answers took.
 */
import { writeFileSync } from 'node:fs'
import { startApp } from '../dist/app.js'
import { loadConfig } from '../dist/config.js'
import { createLog } from '../dist/telemetry/log.js'
import { createMetrics } from '../dist/telemetry/metrics.js'

const [mode, report, ...args] = process.argv.slice(2)
/** Timers of the gateway go off twice a second: slices of one length would meet them always in the same mode. */
const sliceMs = () => 100 + 200 * Math.random()
/** What the first seconds compile is not counted. */
const WARM_MS = 5_000
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

/** Metrics that count in every other slice only. */
function switching(sources) {
  const metrics = createMetrics(sources)
  const totals = { on: { cpu: 0, answers: 0 }, off: { cpu: 0, answers: 0 } }
  let on = true
  let answers = 0
  let since = process.cpuUsage()
  const flip = () => {
    const { user, system } = process.cpuUsage(since)
    const total = on ? totals.on : totals.off
    if (process.uptime() * 1_000 > WARM_MS) {
      total.cpu += user + system
      total.answers += answers
    }
    answers = 0
    since = process.cpuUsage()
    on = !on
    setTimeout(flip, sliceMs()).unref()
  }
  setTimeout(flip, sliceMs()).unref()
  process.once('SIGTERM', () => writeFileSync(report, JSON.stringify(totals)))
  return {
    ...metrics,
    observe: (observation) => on && metrics.observe(observation),
    observeHttp: (request) => {
      answers += 1
      if (on) metrics.observeHttp(request)
    },
  }
}

const IN_PLACE = { on: createMetrics, off: () => COUNTS_NOTHING, switching }
const { config } = loadConfig({ args, parseYaml: nothing })
const app = await startApp(config, { log: createLog('info'), createMetrics: IN_PLACE[mode] })
console.log(JSON.stringify({ msg: 'listening', url: app.url, metrics: app.metricsUrl }))
process.once('SIGTERM', () => void app.close())
