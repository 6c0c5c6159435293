import type { Logger } from 'pino'
import { saysTrouble } from './outage-log.ts'
import { type Checkpointer, createCheckpointer } from '../evidence/checkpointer.ts'
import { type LogIdentity, makeCheckpoint } from '../gateway/jobs/checkpoints.ts'
import type { Deps } from '../gateway/core/deps.ts'
import type { EvidenceRecord } from '../gateway/core/event-record.ts'
import { SYSTEM } from '../gateway/core/records.ts'
import { listTenants } from '../gateway/core/tenants.ts'

/** The signer of checkpoints. It starts after the gateway, and ignores records before its start. */
export interface Checkpoints {
  noted(record: EvidenceRecord): void
  lagMs(): number
  start(deps: Deps, log: Logger): Checkpointer
}

const EVERY_MS = 1_000
const REKEYED =
  'evidence was signed by another key until now: hand auditors the new one (`countersign evidence key`); if that was not meant, give every gateway the COUNTERSIGN_SIGNING_KEY of before'

export function assembleCheckpoints(log: LogIdentity, everyMs = EVERY_MS): Checkpoints {
  let checkpointer: Checkpointer | undefined
  return {
    noted: ({ tenant }) => checkpointer?.noted(tenant),
    lagMs: () => checkpointer?.lagMs() ?? 0,
    start(deps, logger) {
      checkpointer = createCheckpointer({
        make: async (tenant) => {
          const made = await makeCheckpoint(deps, log, tenant)
          if (made.rekeyed) logger.warn({ tenant }, REKEYED)
          return made
        },
        tenants: async () => [SYSTEM, ...(await listTenants(deps))],
        now: () => deps.store.now(),
        everyMs,
        onError: saysTrouble(logger, 'a checkpoint could not be signed now'),
      })
      return checkpointer
    },
  }
}
