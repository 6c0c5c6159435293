import { countReplicas } from '../../../app/store.ts'
import type { Config } from '../../../settings/config.ts'
import { error, type Finding } from './finding.ts'

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
