import { collectDefaultMetrics, Registry } from 'prom-client'

/** Gauges with the name of a counter, and what `nodejs_active_resources` says as well. */
const LEFT_OUT = [
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** What the process takes, and how late its event loop is. */
export function collectNodeMetrics(): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of LEFT_OUT) registry.removeSingleMetric(name)
  return registry
}
