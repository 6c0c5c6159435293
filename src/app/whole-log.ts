import { overriding, type Store, STORE_LIMITS, type StoredEvent, TilesUnavailable } from '../store/store.ts'
import { WIDTH } from '../tiles/layout.ts'
import { readNote, readRecords } from '../tiles/log.ts'
import { BadTile, PlaceUnavailable } from '../tiles/place.ts'
import { logOf } from '../gateway/core/log-number.ts'
import { read } from '../gateway/core/records.ts'
import { HEAD } from '../gateway/jobs/publish-tiles.ts'
import { lastLog, type Places } from './places.ts'

/*
 * The log as a whole. Its first records may be only in tiles, because the store keeps the records of some days
 * (`retention: { log_in_store }`). Readers see one log.
 */

/** Bundles in memory: a reader of the whole log reads each in several pages. */
const MOST_BUNDLES = 4

/**
 * The store with the whole log. `events` reads records that left the store from their tiles. Tiles have no commit ids,
 * so the commit id of such a record is empty.
 */
export function storeOfWholeLog(
  store: Store,
  places: Places | undefined,
  callMs: number = STORE_LIMITS.callMs,
): Store {
  const tiles = new EarlierRecords(places, (of, tenant) => logWithTiles(of, store, tenant))
  return overriding(store, {
    async events(partition, after, limit) {
      const kept = await store.events(partition, after, limit)
      const first = kept[0]?.number ?? 0
      if (first <= after + 1) return kept
      const late = unreadable(partition, { before: first, places })
      const earlier = await within(callMs, late, tiles.read(partition, { after, before: first, limit }))
      return [...earlier, ...kept.slice(0, limit - earlier.length)]
    },
  })
}

/** Limits the time of a call, as a store does (S09): a bucket may not answer for a minute. */
async function within<T>(ms: number, error: Error, call: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(reject, ms, error)
  })
  return Promise.race([call, late]).finally(() => clearTimeout(timer))
}

interface Away {
  /** The number of the first record that the store has. */
  readonly before: number
  readonly places: Places | undefined
}

const unreadable = (tenant: string, { before, places }: Away, cause?: unknown): TilesUnavailable =>
  new TilesUnavailable(
    `the tiles of ${tenant} cannot be read (records 1 to ${before - 1}, ${places?.address ?? 'COUNTERSIGN_TILES is off'})`,
    { cause },
  )

interface Range {
  readonly after: number
  /** The number of the first record that the store has. */
  readonly before: number
  readonly limit: number
}

/** Records that left the store, in their tiles. */
export class EarlierRecords {
  readonly #places: Places | undefined
  readonly #logOf: (places: Places, tenant: string) => Promise<number>
  /** Full bundles never change. */
  readonly #bundles = new Map<string, readonly Buffer[]>()

  /** @param logOf the number of the log that has the records; by default, the last one at the address */
  constructor(
    places: Places | undefined,
    logOf: (places: Places, tenant: string) => Promise<number> = lastLog,
  ) {
    this.#places = places
    this.#logOf = logOf
  }

  /** @throws TilesUnavailable when the tiles are off, do not answer, or lack the records */
  async read(tenant: string, { after, before, limit }: Range): Promise<StoredEvent[]> {
    const events: StoredEvent[] = []
    const end = Math.min(before - 1, after + limit)
    for (let at = after; at < end;) {
      const index = Math.floor(at / WIDTH)
      const records = await this.#bundle(tenant, index).catch((error: unknown) => {
        if (!(error instanceof BadTile || error instanceof PlaceUnavailable)) throw error
        throw unreadable(tenant, { before, places: this.#places }, error)
      })
      const some = records.slice(at - index * WIDTH, end - index * WIDTH)
      for (const record of some) events.push({ number: ++at, body: record.toString('utf8'), commitId: '' })
    }
    return events
  }

  async #bundle(tenant: string, index: number): Promise<readonly Buffer[]> {
    const name = `${tenant} ${index}`
    const known = this.#bundles.get(name)
    if (known !== undefined) return known
    const places = this.#places
    if (places === undefined) throw new PlaceUnavailable('tiles are off')
    const place = places.of(tenant, await this.#logOf(places, tenant))
    const records = await readRecords(place, { index, width: WIDTH })
    for (const oldest of this.#bundles.keys())
      if (this.#bundles.size >= MOST_BUNDLES) this.#bundles.delete(oldest)
    this.#bundles.set(name, records)
    return records
  }
}

/**
 * The number of the log whose tiles have the records that left the store. Tiles of an earlier log may have other
 * records. They serve only until the first publication of the last log, which reaches all of them.
 */
async function logWithTiles(places: Places, store: Store, tenant: string): Promise<number> {
  const { number } = await logOf(store, tenant)
  const { size = 0, log = 1 } = (await read(store, tenant, 'tiles', HEAD))?.value ?? {}
  if (log === number && size > 0) return number
  let found = number
  while (found > 1 && (await readNote(places.of(tenant, found))) === undefined) found--
  return found
}
