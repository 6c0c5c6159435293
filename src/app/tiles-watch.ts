import type { Logger } from 'pino'
import type { Confirmed } from '../evidence/confirmed.ts'
import type { Deps } from '../gateway/core/deps.ts'
import { ASKED_MS } from '../gateway/admin/accept-loss.ts'
import { ALL } from '../gateway/core/expiry-index.ts'
import { type InstanceRecord, read, SYSTEM } from '../gateway/core/records.ts'
import { listTenants } from '../gateway/core/tenants.ts'
import { WIDTH } from '../tiles/layout.ts'
import type { OwnSecrets } from '../gateway/jobs/own-secrets.ts'
import type { Config } from '../settings/settings.ts'
import type { Store } from '../store/store.ts'
import { type Reports, startReports } from './reports.ts'
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
  /** The answer to the question whether record files are lost (src/gateway/admin/accept-loss.ts). */
  loss(): InstanceRecord['loss']
  close(): Promise<void>
}

const EVERY_MS = 5_000
const MEANWHILE =
  'exports, pages of old calls and erasures of old data answer 503, and nothing more leaves the store; decisions continue (docs/how-to/lost-tiles.md)'

export interface WatchParts {
  readonly own: OwnSecrets
  readonly confirmed: Confirmed
  /** The store itself. */
  readonly store: Store
  readonly config: Pick<Config, 'policyRollout'>
  readonly parts: { readonly log: Logger; readonly reportEveryMs?: number }
}

/** Starts the look at tiles, and the reports of this instance, which have its results. */
export function startWatches(
  deps: Deps,
  tiles: EarlierRecords,
  { own, store, config, confirmed, parts: { log, reportEveryMs: everyMs } }: WatchParts,
): { readonly reports: Reports; readonly tilesWatch: TilesWatch } {
  const tilesWatch = startTilesWatch(deps, tiles, { log, everyMs })
  const reports = startReports(deps, {
    tiles: () => ({ unreadable: tilesWatch.trouble(), loss: tilesWatch.loss() }),
    identity: own.log,
    confirmed,
    store,
    refresh: () => own.adminKeys.refresh(),
    log,
    rolloutMs: config.policyRollout,
    everyMs,
  })
  return { reports, tilesWatch }
}

function startTilesWatch(
  deps: Deps,
  tiles: EarlierRecords,
  { log, everyMs = EVERY_MS }: { readonly log: Logger; readonly everyMs: number | undefined },
): TilesWatch {
  const since = new Map<Unreadable['reason'], number>()
  let looking: Promise<void> | undefined
  let turn = 0
  let loss: InstanceRecord['loss']
  const sayTrouble = saysTrouble(log, 'tiles cannot be looked at now')
  const look = async (): Promise<void> => {
    for (const tenant of [SYSTEM, ...(await listTenants(deps))]) {
      const before = await deps.store.firstEvent(tenant)
      if (before > 1) await tiles.look(tenant, before, turn % Math.floor((before - 1) / WIDTH))
    }
    turn++
    loss = await answerOf(deps, tiles, loss)
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
    loss: () => loss,
    async close() {
      clearInterval(timer)
      await looking
    },
  }
}

/** Tries the files of the question, and again those that it could not read, as long as the question is new. */
async function answerOf(
  deps: Deps,
  tiles: EarlierRecords,
  known: InstanceRecord['loss'],
): Promise<InstanceRecord['loss']> {
  const question = (await read(deps.store, SYSTEM, 'loss', ALL))?.value
  if (question === undefined || deps.store.now() - question.at > ASKED_MS) return undefined
  const { id, tenant, files } = question
  const before = await deps.store.firstEvent(tenant)
  return { id, files: await tiles.unreadableOf(tenant, before, known?.id === id ? known.files : files) }
}
