import { collectDefaultMetrics, type Metric, Registry } from 'prom-client'

/** Omitted gauges: gauges with the name of a counter, and gauges that `nodejs_active_resources` covers. */
const LEFT_OUT = [
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** Returns the metrics of the process and of its event loop. */
export function collectNodeMetrics(): Metric[] {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of LEFT_OUT) registry.removeSingleMetric(name)
  return registry.getMetricsAsArray().flatMap(({ name }) => registry.getSingleMetric(name) ?? [])
}
