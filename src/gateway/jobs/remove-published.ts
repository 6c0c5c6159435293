import type { StoredEvent } from '../../store/store.ts'
import { WIDTH } from '../../tiles/layout.ts'
import { readRecords } from '../../tiles/log.ts'
import { BadTile, type Place } from '../../tiles/place.ts'
import { TilesStopped } from '../../tiles/stops.ts'
import type { Deps } from '../core/deps.ts'
import { logOf } from '../core/log-number.ts'
import { fileEntry, rootOfRecords } from '../core/record-files.ts'
import { read, type TilesRecord, unchanged, type Versioned } from '../core/records.ts'
import { type Plan, storeCall, transact } from '../core/transact.ts'
import { planForgetting } from './forget-tasks.ts'
import { HEAD, publishedAt, timeOf, type Tiles } from './publish-tiles.ts'

/**
 * Removes the oldest bundle of a tenant's log from the store, if its records are old enough (`retention: { log_in_store
 * }`). Each of them is read back from the tiles first. The last published record stays in the store, because the next
 * checkpoint continues after it. The commit leaves an entry of the file (record-files.ts).
 *
 * @returns true when more may be removed at once
 * @throws TilesStopped when the tiles are damaged; PlaceUnavailable; GatewayError of the store
 */
export async function removePublished(deps: Deps, tiles: Tiles, tenant: string): Promise<boolean> {
  const retention = deps.policies.current()?.retention
  if (retention === undefined) return false
  const done = (await storeCall(() => deps.store.firstEvent(tenant))) - 1
  const log = await storeCall(() => logOf(deps.store, tenant))
  const isPublished = (known: Versioned<TilesRecord> | undefined, number: number): boolean =>
    number < (publishedAt(tiles, log, known)?.size ?? 0)
  const known = await storeCall(() => read(deps.store, tenant, 'tiles', HEAD))
  if (!isPublished(known, done + WIDTH)) return false
  const events = await storeCall(() => deps.store.events(tenant, done, WIDTH))
  const last = events[WIDTH - 1]
  if (last === undefined || timeOf(last.body) > deps.store.now() - retention.log_in_store_ms) return false
  await requireBundle(tiles.placeOf(tenant, log.number), events)
  const { answer } = await transact(deps, tenant, async (): Promise<Plan<boolean>> => {
    const now = await read(deps.store, tenant, 'tiles', HEAD)
    if (!isPublished(now, last.number)) return { answer: false }
    return {
      answer: true,
      guards: [unchanged('tiles', HEAD, now)],
      writes: [
        { op: 'trim', before: last.number + 1 },
        ...planForgetting(events, timeOf(last.body) + retention.tasks_ms),
        fileEntry({
          last: last.number,
          time: timeOf(last.body),
          root: rootOfRecords(events.map(({ body }) => body)),
        }),
      ],
    }
  })
  return answer
}

/** Requires the place to have these records. @throws TilesStopped */
async function requireBundle(place: Place, events: readonly StoredEvent[]): Promise<void> {
  const first = events[0]?.number ?? 1
  const part = { index: Math.floor(first / WIDTH), width: WIDTH }
  const records = await readRecords(place, part).catch((error: unknown) => {
    if (!(error instanceof BadTile)) throw error
    throw new TilesStopped('damaged', error.message, { cause: error })
  })
  const isSame = events.every(({ body }, i) => records[i]?.toString('utf8') === body)
  if (!isSame)
    throw new TilesStopped(
      'damaged',
      `${place.name} has other records than the store, from number ${first} on`,
    )
}
