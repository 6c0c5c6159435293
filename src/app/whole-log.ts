import { overriding, type Store, STORE_LIMITS, type StoredEvent, TilesUnavailable } from '../store/store.ts'
import { WIDTH } from '../tiles/layout.ts'
import { readNote, readRecords } from '../tiles/log.ts'
import { BadTile, PlaceUnavailable } from '../tiles/place.ts'
import { UNREADABLE } from '../tiles/stops.ts'
import { logOf } from '../gateway/core/log-number.ts'
import { filesAfter, type RecordFile, rootOfRecords } from '../gateway/core/record-files.ts'
import { read } from '../gateway/core/records.ts'
import { HEAD } from '../gateway/jobs/publish-tiles.ts'
import { lastLog, type Places } from './places.ts'

/*
 * The log as a whole. Its first records may be only in tiles, because the store keeps the records of some days
 * (`retention: { log_in_store }`). Readers see one log.
 */

/** Bundles in memory: a reader of the whole log reads each in several pages. */
const MOST_BUNDLES = 4

/** Records that left the store and cannot be read. */
export interface Unreadable {
  /** `away`: the place does not answer, or lacks the file; `changed`: the file has other records. */
  readonly reason: (typeof UNREADABLE)[number]
  /** With the tenant, the numbers and the place, as the answers to requests say it. */
  readonly what: string
}

/**
 * The store with the whole log. `events` reads records that left the store from their tiles. Tiles have no commit ids,
 * so the commit id of such a record is empty.
 */
export function storeOfWholeLog(
  store: Store,
  places: Places | undefined,
  callMs: number = STORE_LIMITS.callMs,
): Store & { readonly tiles: EarlierRecords } {
  const tiles = new EarlierRecords(places, {
    logOf: (of, tenant) => logWithTiles(of, store, tenant),
    fileOf: async (tenant, last) => (await filesAfter(store, tenant, last - 1, 1))[0],
  })
  const whole = overriding(store, {
    async events(partition, after, limit) {
      const kept = await store.events(partition, after, limit)
      const first = kept[0]?.number ?? 0
      if (first <= after + 1) return kept
      const late = unreadable(partition, { before: first, places })
      const earlier = await within(callMs, late, tiles.read(partition, { after, before: first, limit }))
      return [...earlier, ...kept.slice(0, limit - earlier.length)]
    },
  })
  return { ...whole, tiles }
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

interface KnownFiles {
  /** The number of the log that has the records. */
  readonly logOf: (places: Places, tenant: string) => Promise<number>
  /** The entry of the record file with this last number. */
  readonly fileOf?: (tenant: string, last: number) => Promise<RecordFile | undefined>
}

/** The error for a record file that differs from its entry. */
class Changed extends BadTile {}

/** Records that left the store, in their tiles. */
export class EarlierRecords {
  readonly #places: Places | undefined
  readonly #known: KnownFiles
  /** Full bundles never change. */
  readonly #bundles = new Map<string, readonly Buffer[]>()
  /** Files that could not be read, until they can, by tenant and index. */
  readonly #unreadable = new Map<string, Unreadable>()

  /** @param known by default, of the last log at the address; nothing is compared, as a check does that itself */
  constructor(places: Places | undefined, known: KnownFiles = { logOf: lastLog }) {
    this.#places = places
    this.#known = known
  }

  /** The first files that could not be read, of each reason. */
  unreadable(): readonly Unreadable[] {
    const found = [...this.#unreadable.values()]
    return UNREADABLE.flatMap((reason) => found.find((one) => one.reason === reason) ?? [])
  }

  /** Looks again at the files that could not be read, and at one more. @throws StoreUnavailable */
  async look(tenant: string, before: number, index: number): Promise<void> {
    const own = `${tenant} `
    const known = [...this.#unreadable.keys()].filter((name) => name.startsWith(own))
    for (const one of new Set([index, ...known.map((name) => Number(name.slice(own.length)))])) {
      this.#bundles.delete(`${tenant} ${one}`)
      // a place that is away answers slowly
      if ((await this.#read(tenant, before, one).then(() => undefined, unavailable)) !== undefined) return
    }
  }

  /** The last numbers of the files that cannot be read, of these. @throws StoreUnavailable */
  async unreadableOf(tenant: string, before: number, lasts: readonly number[]): Promise<number[]> {
    const unread: number[] = []
    for (const [i, last] of lasts.entries()) {
      this.#bundles.delete(`${tenant} ${last / WIDTH - 1}`)
      const failed = await this.#read(tenant, before, last / WIDTH - 1).then(() => undefined, unavailable)
      // a place that is away answers slowly; a link in place of one file is no such place
      if (failed?.cause instanceof PlaceUnavailable && (await this.#isAway(tenant)))
        return [...unread, ...lasts.slice(i)]
      if (failed !== undefined) unread.push(last)
    }
    return unread
  }

  async #isAway(tenant: string): Promise<boolean> {
    const places = this.#places
    if (places === undefined) return true
    const place = places.of(tenant, await this.#known.logOf(places, tenant))
    return readNote(place).then(
      () => false,
      (error: unknown) => error instanceof PlaceUnavailable,
    )
  }

  /**
   * Skips files whose loss was accepted.
   *
   * @throws TilesUnavailable when the tiles are off, do not answer, lack the records, or have others
   */
  async read(tenant: string, { after, before, limit }: Range): Promise<StoredEvent[]> {
    const events: StoredEvent[] = []
    for (let at = after; at < before - 1 && events.length < limit;) {
      const index = Math.floor(at / WIDTH)
      const records = await this.#read(tenant, before, index)
      const from = at - index * WIDTH
      for (const record of records.slice(from, from + limit - events.length))
        events.push({ number: ++at, body: record.toString('utf8'), commitId: '' })
      // the loss of this file was accepted
      if (records.length === 0) at = (index + 1) * WIDTH
    }
    return events
  }

  async #read(tenant: string, before: number, index: number): Promise<readonly Buffer[]> {
    const name = `${tenant} ${index}`
    const records = await this.#bundle(tenant, index).catch((cause: unknown) => {
      if (!(cause instanceof BadTile || cause instanceof PlaceUnavailable)) throw cause
      const isChanged = cause instanceof Changed
      const error = isChanged
        ? new TilesUnavailable(cause.message, { cause })
        : unreadable(tenant, { before, places: this.#places }, cause)
      this.#unreadable.set(name, { reason: isChanged ? 'changed' : 'away', what: error.message })
      throw error
    })
    this.#unreadable.delete(name)
    return records
  }

  async #bundle(tenant: string, index: number): Promise<readonly Buffer[]> {
    const name = `${tenant} ${index}`
    const known = this.#bundles.get(name)
    if (known !== undefined) return known
    const last = (index + 1) * WIDTH
    const { fileOf } = this.#known
    const file = await fileOf?.(tenant, last)
    if (file?.isLost) return []
    const places = this.#places
    if (places === undefined) throw new PlaceUnavailable('tiles are off')
    const place = places.of(tenant, await this.#known.logOf(places, tenant))
    const records = await readRecords(place, { index, width: WIDTH })
    if (fileOf !== undefined && file?.root !== rootOfRecords(records))
      throw new Changed(
        `the tiles of ${tenant} have other records than left the store (records ${last - WIDTH + 1} to ${last}, ${places.address})`,
      )
    for (const oldest of this.#bundles.keys())
      if (this.#bundles.size >= MOST_BUNDLES) this.#bundles.delete(oldest)
    this.#bundles.set(name, records)
    return records
  }
}

function unavailable(error: unknown): TilesUnavailable {
  if (error instanceof TilesUnavailable) return error
  throw error
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
