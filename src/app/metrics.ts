import type { Logger } from 'pino'
import { saysTrouble } from './outage-log.ts'
import { type Census, census } from '../gateway/jobs/backlog.ts'
import type { Deps } from '../gateway/core/deps.ts'
import type { PolicyFeed } from '../policy/bundle/feed.ts'
import type { Store } from '../store/store.ts'
import { createMetrics, type Metrics, type MetricSources } from '../telemetry/count/metrics.ts'
import { packageVersion } from '../system/package.ts'

/** Minimum time between two counts of the store's threads and deliveries, ms. */
const CENSUS_EVERY_MS = 5_000

/** Sources of gauges. The parts that scrapes read, once every part of the gateway is open. */
export interface MetricsParts extends Pick<
  MetricSources,
  'traffic' | 'isReady' | 'isStoreLost' | 'checkpointLagMs' | 'tiles'
> {
  readonly store: Store
  readonly policies: PolicyFeed
  readonly log: Logger
  readonly deps: () => Deps
}

export function assembleMetrics(
  { store, policies, log, deps, ...asked }: MetricsParts,
  create: (sources: MetricSources) => Metrics = createMetrics,
): Metrics {
  return create({
    version: packageVersion(),
    knowsTool: (name) => policies.current()?.tools.has(name) === true,
    now: () => store.now(),
    durability: () => store.durability,
    storeHealth: () => store.health(),
    ...asked,
    census: cached(() => census(deps()), {
      everyMs: CENSUS_EVERY_MS,
      onError: saysTrouble(
        log,
        'held calls and deliveries cannot be counted: their metrics keep the last values',
      ),
    }),
    onFull: (metric) =>
      log.warn({ metric }, 'a metric has as many series as it may have: further ones count as _other'),
  })
}

/** Caches the census. A scrape during a count waits for the result of that count. */
function cached(
  ask: () => Promise<Census>,
  { everyMs, onError }: { readonly everyMs: number; readonly onError: (error: unknown) => void },
): () => Promise<Census> {
  let at = -Infinity
  let underWay = false
  let answer: Promise<Census> | undefined
  return () => {
    if (answer !== undefined && (underWay || performance.now() - at < everyMs)) return answer
    at = performance.now()
    underWay = true
    answer = ask().finally(() => {
      underWay = false
    })
    answer.catch(onError)
    return answer
  }
}
