import { countReplicas, openStore, timesInRedis } from '../../../app/store.ts'
import type { Config } from '../../../settings/config.ts'
import { SYSTEM } from '../../../gateway/core/records.ts'
import { TENANTS_INDEX } from '../../../gateway/core/indexes.ts'
import { error, type Finding } from './finding.ts'

/** Records to check. More records are not needed to detect a wrong clock. */
const LOOKED_AT = 1_000

/**
 * Checks the time of an otherwise healthy Redis. After Redis's clock was set back, stored times are in the future. With
 * such times, a gateway starts and is ready, but its commits are late. The gateway is affected for all tenants, or for
 * those that were busy while the clock was wrong.
 */
export async function lookAtRedisTime(config: Config): Promise<Finding[]> {
  const partitions = [SYSTEM, ...(await tenantsIn(config))]
  const ahead = (await timesInRedis(config, partitions))
    .filter(({ ms }) => ms > config.storeDeadline)
    .toSorted((a, b) => b.ms - a.ms)
  const [first, ...others] = ahead
  if (first === undefined) return []
  const whose = `\`${first.partition}\`${others.length === 0 ? '' : ` and ${others.length} more`}`
  return [
    error(
      'clock',
      `the clock of Redis is ${(first.ms / 1_000).toFixed(1)} s behind the last write of ${whose}: gateways that were started since decide nothing there, every decision is 503`,
      'set the clock (NTP); if it is right now but was wrong before, commits wait until it has caught up',
    ),
  ]
}

async function tenantsIn(config: Config): Promise<string[]> {
  const store = await openStore(config)
  try {
    return (await store.range(SYSTEM, TENANTS_INDEX, { limit: LOOKED_AT })).map(({ member }) => member)
  } finally {
    await store.close()
  }
}

/**
 * Checks the replicas of an otherwise healthy Redis. A gateway starts without the replicas that must confirm, but
 * decides no calls until they connect.
 */
export async function lookAtReplicas(config: Config): Promise<Finding[]> {
  const wanted = config.storeReplicas
  if (wanted === 0) return []
  const servers = await countReplicas(config)
  return servers
    .filter(({ replicas }) => replicas < wanted)
    .map(({ server, replicas }) =>
      error(
        'store',
        `store_replicas=${wanted}, and ${replicas} follow Redis at ${server}: no commit is confirmed, every decision is 503`,
        'start the replicas, or let fewer confirm',
      ),
    )
}
