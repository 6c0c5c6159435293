import type { LogRequest, LogStarted } from '../../contract/checkpoint.ts'
import { GatewayError } from '../../contract/errors.ts'
import { verifierKey } from '../../domain/checkpoint.ts'
import { WIDTH } from '../../tiles/layout.ts'
import type { Deps } from '../core/deps.ts'
import { record } from '../core/event-record.ts'
import { ALL } from '../core/expiry-index.ts'
import { logOf } from '../core/log-number.ts'
import { put, read, unchanged } from '../core/records.ts'
import { type Plan, storeCall, transact } from '../core/transact.ts'
import { type LogIdentity, originOf } from '../jobs/checkpoints.ts'
import { lastNoteOf, nextLog, type Tiles } from '../jobs/publish-tiles.ts'

const ADMIN = { kind: 'admin', id: 'admin' } as const

interface Logs {
  readonly identity: LogIdentity
  /** Undefined when tiles are off. */
  readonly tiles: Tiles | undefined
}

/**
 * Starts a new log of a tenant: its checkpoints get another origin, and its tiles another place. The record that starts
 * it has the last note of the log before, so both remain evidence.
 *
 * @throws GatewayError `not_found` when nothing was signed, or another administrator was quicker. `tiles_unavailable`
 * when the place of the tiles does not answer; `store_unavailable`, `outcome_unknown`
 */
export async function startLog(
  deps: Deps,
  { identity, tiles }: Logs,
  { tenant, reason }: LogRequest,
): Promise<LogStarted> {
  const { number } = await storeCall(() => logOf(deps.store, tenant))
  const previous = await lastNoteOf(deps, tiles, tenant)
  if (previous === undefined) throw new GatewayError('not_found', 'no evidence of this tenant was signed yet')
  await requireReadable(deps, tenant)
  const log = await nextLog(tiles, tenant, number)
  const { answer } = await transact(deps, tenant, async (): Promise<Plan<LogStarted>> => {
    const now = await logOf(deps.store, tenant)
    const origin = originOf(identity, tenant, log)
    const keyOf = (name: string): string => verifierKey(name, identity.key.public)
    const answer = {
      log,
      origin,
      verifier_key: keyOf(origin),
      previous_verifier_key: keyOf(originOf(identity, tenant, number)),
      previous,
    }
    // another administrator was quicker
    if (now.number !== number)
      throw new GatewayError('not_found', `log ${number} is not the last one any more`)
    const tree = await read(deps.store, tenant, 'tree', 'head')
    return {
      answer,
      guards: [unchanged('log', ALL, now.version), unchanged('tree', 'head', tree)],
      writes: [put('log', ALL, { number: log, signed: tree?.value.size ?? 0 })],
      evidence: [
        record(
          deps.store.now(),
          ADMIN,
          { tenant },
          { type: 'log.started', details: { log, origin, previous }, disclosed: { reason } },
        ),
      ],
    }
  })
  return answer
}

/** Requires all records that left the store, because the tiles of a new log have them. */
async function requireReadable({ store }: Deps, tenant: string): Promise<void> {
  const before = await storeCall(() => store.firstEvent(tenant))
  for (let at = 0; at < before - 1;)
    at = await storeCall(() => store.events(tenant, at, WIDTH)).then(
      (events) => events.at(-1)?.number ?? before,
      (error: unknown) => {
        if (!(error instanceof GatewayError && error.code === 'tiles_unavailable')) throw error
        const way = `bring the files back, or accept their loss: countersign evidence accept-loss --tenant ${tenant} --before ${before} --reason TEXT`
        throw new GatewayError('tiles_unavailable', `${error.message}: a new log needs them; ${way}`, {
          cause: error,
        })
      },
    )
}
