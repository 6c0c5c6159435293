import type { Logger } from 'pino'
import type { Deps } from '../gateway/core/deps.ts'
import { SYSTEM } from '../gateway/core/records.ts'
import { listTenants } from '../gateway/core/tenants.ts'
import { WIDTH } from '../tiles/layout.ts'
import { saysTrouble } from './outage-log.ts'
import type { EarlierRecords, Unreadable } from './whole-log.ts'

/** Tiles that cannot be read although records are only there. */
export interface TilesTrouble extends Unreadable {
  /** ms since 1970. */
  readonly since: number
}

/** Looks at records that left the store, a record file of each tenant after another. */
export interface TilesWatch {
  trouble(): readonly TilesTrouble[]
  close(): Promise<void>
}

const EVERY_MS = 15_000
const MEANWHILE =
  'exports, pages of old calls and erasures of old data answer 503, and nothing more leaves the store; decisions continue (docs/runbooks/CountersignTilesUnreadable.md)'

export function startTilesWatch(
  deps: Deps,
  tiles: EarlierRecords,
  { log, everyMs = EVERY_MS }: { readonly log: Logger; readonly everyMs: number | undefined },
): TilesWatch {
  const since = new Map<Unreadable['reason'], number>()
  let looking: Promise<void> | undefined
  let turn = 0
  const sayTrouble = saysTrouble(log, 'tiles cannot be looked at now')
  const look = async (): Promise<void> => {
    for (const tenant of [SYSTEM, ...(await listTenants(deps))]) {
      const before = await deps.store.firstEvent(tenant)
      if (before > 1) await tiles.look(tenant, before, turn % Math.floor((before - 1) / WIDTH))
    }
    turn++
    const found = tiles.unreadable()
    for (const { reason, what } of found) {
      if (!since.has(reason)) log.error({ reason }, `${what}: ${MEANWHILE}`)
      since.set(reason, since.get(reason) ?? deps.store.now())
    }
    for (const reason of since.keys())
      if (found.every((one) => one.reason !== reason)) {
        since.delete(reason)
        log.info({ reason }, 'the tiles can be read again')
      }
  }
  const timer = setInterval(() => {
    looking ??= look()
      .catch(sayTrouble)
      .finally(() => (looking = undefined))
  }, everyMs).unref()
  return {
    trouble: () =>
      tiles.unreadable().map((one) => ({ ...one, since: since.get(one.reason) ?? deps.store.now() })),
    async close() {
      clearInterval(timer)
      await looking
    },
  }
}
