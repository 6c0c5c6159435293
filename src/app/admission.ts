import type { Logger } from 'pino'
import type { Config } from '../settings/config.ts'
import { createGate, type Gate } from '../http/gate.ts'
import type { Metrics } from '../telemetry/count/metrics.ts'
import { networksOf } from '../settings/networks.ts'
import type { StrangerBounds } from '../http/wire/strangers.ts'

/** What refuses requests before the gateway has too much to do, and who is told of it. */
export function gateOf(config: Config, { metrics, log }: { metrics: Metrics; log: Logger }): Gate {
  return createGate({
    storeDeadlineMs: config.storeDeadline,
    bodyBytes: config.bodyLimit,
    observe: {
      looked: (sight) => metrics.observeGate(sight),
      overload: ({ began, refused }) => {
        if (began) log.warn('more is asked of this gateway than it can do: some requests are refused')
        else log.info({ refused }, 'no request is refused any more')
      },
    },
  })
}

export const strangersOf = ({ connectionsPerAddress, trustedProxies }: Config): StrangerBounds => ({
  perAddress: connectionsPerAddress,
  trusted: networksOf(trustedProxies, 'trusted_proxies'),
})
