import type { Logger } from 'pino'
import type { TilesWriter } from './tiles.ts'
import { saysTrouble } from './outage-log.ts'
import { type Checkpointer, createCheckpointer } from '../evidence/checkpointer.ts'
import { type LogIdentity, makeCheckpoint } from '../gateway/jobs/checkpoints.ts'
import type { Confirmed } from '../evidence/confirmed.ts'
import type { Deps } from '../gateway/core/deps.ts'
import type { LossWatch } from '../gateway/jobs/loss-watch.ts'
import { SYSTEM } from '../gateway/core/records.ts'
import { listTenants } from '../gateway/core/tenants.ts'

const EVERY_MS = 1_000
const REKEYED =
  'a different key signed the evidence until now: give auditors the new key (`countersign evidence key`); if the change was not intended, give every gateway the previous COUNTERSIGN_SIGNING_KEY'

/** Starts the signer of checkpoints. */
export function startCheckpoints(
  deps: Deps,
  identity: LogIdentity,
  {
    confirmed,
    log,
    watch,
    tiles,
    everyMs = EVERY_MS,
  }: {
    readonly confirmed: Confirmed
    readonly log: Logger
    readonly watch: LossWatch
    readonly tiles: Pick<TilesWriter, 'noted'>
    readonly everyMs: number | undefined
  },
): Checkpointer {
  return createCheckpointer({
    confirmed,
    make: async (tenant) => {
      await watch.requireSameStore()
      const made = await makeCheckpoint(deps, identity, tenant, watch)
      watch.signed(tenant, made.size)
      tiles.noted(tenant)
      if (made.rekeyed) log.warn({ tenant }, REKEYED)
      return made
    },
    tenants: async () => [SYSTEM, ...(await listTenants(deps))],
    now: () => deps.store.now(),
    everyMs,
    onError: saysTrouble(log, 'a checkpoint could not be signed now'),
  })
}
