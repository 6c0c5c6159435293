import { timesInRedis } from '../../app-store.ts'
import type { Config } from '../../config.ts'
import { SYSTEM } from '../../gateway/records.ts'
import { error, type Finding } from './finding.ts'

/**
 * Of a Redis that is otherwise well. Where its clock was set back, what it has seen lies ahead: a gateway that is started then reads and is ready, and each of its
 * commits comes too late. The times of `_system` stand for those of all tenants: it is told of each load of policies.
 */
export async function lookAtRedisTime(config: Config): Promise<Finding[]> {
  const { seen, now } = await timesInRedis(config, SYSTEM)
  const aheadMs = seen - now
  if (aheadMs <= config.storeDeadline) return []
  const seconds = (aheadMs / 1_000).toFixed(1)
  return [
    error(
      'clock',
      `the clock of Redis is ${seconds} s behind the last write: gateways that were started since decide nothing, every decision is 503`,
      'set it right (NTP); where it is right now and was wrong before, they wait until it has caught up',
    ),
  ]
}
