import { setTimeout as pause } from 'node:timers/promises'
import { verifierKey } from '../../domain/checkpoint.ts'
import { TilesUnavailable } from '../../store/store.ts'
import { WIDTH } from '../../tiles/layout.ts'
import { BadTile, type Place, PlaceUnavailable } from '../../tiles/place.ts'
import { readNote } from '../../tiles/log.ts'
import { TilesStopped } from '../../tiles/stops.ts'
import { type Chunk, type Publication, publish, type Published, removeOutgrown } from '../../tiles/publish.ts'
import type { Deps } from '../core/deps.ts'
import { INDEX } from '../core/indexes.ts'
import { FIRST_PAGE, nextPageSize } from '../core/page-size.ts'
import { logOf, type TenantLog } from '../core/log-number.ts'
import { lostFiles, type RecordFile } from '../core/record-files.ts'
import { type CheckpointRecord, put, read, type TilesRecord, unchanged } from '../core/records.ts'
import { readConfirmed, storeCall, transact } from '../core/transact.ts'
import { type LogIdentity, originOf } from './checkpoints.ts'

/*
 * Publishes a tenant's signed evidence as tiles (docs/decisions/0035-tiles.md). One instance writes at a time, under
 * the lease in the record `tiles`. Decisions never wait for that.
 */

export interface Tiles {
  readonly identity: LogIdentity
  /** The address of all logs. The same place always has the same. */
  readonly address: string
  readonly placeOf: (tenant: string, log: number) => Place
}

export const HEAD = 'head'
/** A partial bundle is published when its oldest new record has this age, ms. */
const PARTIAL_AFTER_MS = 60_000
/** Most records of one publication, if there is a checkpoint at most so far ahead. */
const MOST_RECORDS = 65_536
const LEASE_MS = 300_000
/** The writer renews its lease after this time, ms. */
const RENEW_MS = 60_000
const PAGE = 100
/** Pause between two pages, because decisions come first. */
const PAUSE_MS = 2

/** The tiles of a tenant, compared with its signed evidence. */
export interface Behind {
  /** The number of the log. */
  readonly log: number
  /** The number of published records. */
  readonly published: number
  /** The time of the oldest signed record that is not in tiles, ms since 1970; absent if all are. */
  readonly since?: number
  /** True when a bundle is full, or a record has waited long enough. */
  readonly isDue: boolean
}

/** Compares the tiles of a tenant with its newest checkpoint, by the store alone. */
export async function lookAtTiles(deps: Deps, tiles: Tiles, tenant: string): Promise<Behind> {
  const log = await storeCall(() => logOf(deps.store, tenant))
  const newest = await storeCall(() => newestOf(deps, tenant, log))
  const known = await storeCall(() => read(deps.store, tenant, 'tiles', HEAD))
  const { size = 0 } = publishedAt(tiles, log, known) ?? {}
  const found = { log: log.number, published: size }
  if (newest === undefined || newest.size === size) return { ...found, isDue: false }
  // earlier records are in the tiles of the earlier log, or only in tiles, which this must not need
  const removed = await storeCall(async () => (await deps.store.firstEvent(tenant)) - 1)
  const [oldest] = await storeCall(() => deps.store.events(tenant, Math.max(size, log.signed, removed), 1))
  const since = oldest === undefined ? deps.store.now() : timeOf(oldest.body)
  const isFull = Math.floor(newest.size / WIDTH) > Math.floor(size / WIDTH)
  return { ...found, since, isDue: isFull || deps.store.now() - since >= PARTIAL_AFTER_MS }
}

/** The time of a record, ms since 1970. */
export const timeOf = (record: string): number =>
  Date.parse((JSON.parse(record) as { readonly at: string }).at)

/** The published part, if it is of this log, and at the address of the settings. */
export function publishedAt(
  { address }: Tiles,
  { number }: Pick<TenantLog, 'number'>,
  known: { readonly value: TilesRecord } | undefined,
): TilesRecord | undefined {
  const { place, log = 1 } = known?.value ?? {}
  return place === address && log === number ? known?.value : undefined
}

/**
 * Publishes new records of a tenant. Does nothing while another instance has the lease.
 *
 * @param stop ends the work; the next call continues
 * @returns false when another instance has the lease
 * @throws TilesStopped; PlaceUnavailable; GatewayError of the store
 */
export async function publishTiles(
  deps: Deps,
  tiles: Tiles,
  tenant: string,
  stop: AbortSignal,
): Promise<boolean> {
  const log = await storeCall(() => logOf(deps.store, tenant))
  const lease = await takeLease(deps, tiles, { tenant, log })
  if (lease === undefined) return false
  const { known } = lease
  const place = tiles.placeOf(tenant, log.number)
  let done: Done | undefined
  try {
    const [newest] = await readConfirmed(deps, tenant, async () => {
      const found = await newestOf(deps, tenant, log)
      return found === undefined ? [] : [found]
    })
    if (newest === undefined) await requireNothing(place)
    else {
      const work = { tenant, log, place, newest, lease, stop }
      const { found, ...published } = await publish(await publicationOf(deps, tiles, work))
      // a place that the store does not know may be long: only its end can have partial files
      done =
        known.note === undefined
          ? { published, before: found, kept: found }
          : { published, before: known.size, kept: known.before }
    }
  } finally {
    await endLease(deps, tenant, lease, done)
  }
  if (done !== undefined) await removeOutgrown(place, Math.min(done.kept, done.before), done.published.size)
  return true
}

interface Done {
  readonly published: Published
  /** The size before this publication. */
  readonly before: number
  /** The size from which partial files may remain. */
  readonly kept: number
}

/** Requires an empty place for a store that has signed nothing. @throws TilesStopped */
async function requireNothing(place: Place): Promise<void> {
  if ((await readNote(place)) !== undefined)
    throw new TilesStopped('store_behind', `${place.name} has a log, but the store has signed nothing`)
}

/** The newest checkpoint of the log. */
async function newestOf(
  deps: Deps,
  tenant: string,
  { signed }: TenantLog,
): Promise<CheckpointRecord | undefined> {
  return checkpointIn(deps, tenant, { min: signed + 1, reverse: true, limit: 1 })
}

/**
 * The last note of a tenant's log: that of its place, or the newest in the store. Undefined when nothing was signed.
 *
 * @throws GatewayError `tiles_unavailable` when the place does not answer
 */
export async function lastNoteOf(
  deps: Deps,
  tiles: Tiles | undefined,
  tenant: string,
): Promise<string | undefined> {
  const log = await storeCall(() => logOf(deps.store, tenant))
  const placed = tiles && (await noteOf(tiles, tenant, log.number))
  const newest = await storeCall(() => checkpointIn(deps, tenant, { reverse: true, limit: 1 }))
  return placed ?? newest?.note
}

/**
 * The number of a tenant's next log, which no place has yet. A store that was set back may have forgotten a log, whose
 * name auditors have.
 *
 * @throws GatewayError `tiles_unavailable` when the place does not answer
 */
export async function nextLog(tiles: Tiles | undefined, tenant: string, last: number): Promise<number> {
  let log = last + 1
  while (tiles !== undefined && (await noteOf(tiles, tenant, log)) !== undefined) log++
  return log
}

/** The note in the place of a log. @throws GatewayError `tiles_unavailable` when the place does not answer */
const noteOf = (tiles: Tiles, tenant: string, log: number): Promise<string | undefined> =>
  storeCall(async () => {
    const found = await readNote(tiles.placeOf(tenant, log)).catch((cause: unknown) => {
      if (!(cause instanceof PlaceUnavailable)) throw cause
      throw new TilesUnavailable(`the tiles of ${tenant} cannot be read (${tiles.address})`, { cause })
    })
    return found?.note
  })

async function checkpointIn(
  deps: Deps,
  tenant: string,
  bounds: Parameters<Deps['store']['range']>[2],
): Promise<CheckpointRecord | undefined> {
  const [entry] = await deps.store.range(tenant, INDEX.checkpoints, bounds)
  return entry && (await read(deps.store, tenant, 'checkpoint', entry.member))?.value
}

interface Lease {
  readonly by: string
  until: number
  /** The record when the lease began. */
  readonly known: TilesRecord
}

interface Work {
  readonly tenant: string
  readonly log: TenantLog
  readonly place: Place
  readonly newest: CheckpointRecord
  readonly lease: Lease
  readonly stop: AbortSignal
}

async function publicationOf(
  deps: Deps,
  { identity }: Tiles,
  { tenant, log, place, newest, lease, stop }: Work,
): Promise<Publication> {
  const origin = originOf(identity, tenant, log.number)
  const verifier = verifierKey(origin, identity.key.public)
  const { note, size } = lease.known
  const first = await storeCall(() => deps.store.firstEvent(tenant))
  const lost = await storeCall(() => lostFiles(deps.store, tenant, 1, first - 1))
  return {
    place,
    verifier,
    newest: newest.size,
    // the tiles of an earlier log have what left the store before this one
    removed: log.number === 1 ? first - 1 : 0,
    isLossAccepted: lost.length > 0,
    next: async (from) => {
      const next = await nextAfter(deps, { tenant, newest, from: Math.max(from, log.signed) })
      if (next.note.startsWith(`${origin}\n`)) return next
      throw new PlaceUnavailable(`an administrator started another log of ${tenant}`)
    },
    records: (after) => recordsAfter(deps, tenant, after),
    requireLease: async () => {
      if (stop.aborted) throw new PlaceUnavailable('this gateway ends')
      if (deps.store.now() < lease.until - LEASE_MS + RENEW_MS) return
      lease.until = await renewLease(deps, tenant, lease.by)
    },
    ...(note === undefined ? {} : { published: { note, size } }),
  }
}

/** A checkpoint that one publication can reach, or the next one after the records of the place. */
async function nextAfter(
  deps: Deps,
  {
    tenant,
    newest,
    from,
  }: { readonly tenant: string; readonly newest: CheckpointRecord; readonly from: number },
): Promise<CheckpointRecord> {
  if (newest.size <= from + MOST_RECORDS) return newest
  const reachable = { min: from + 1, max: from + MOST_RECORDS, reverse: true, limit: 1 }
  return (
    (await checkpointIn(deps, tenant, reachable)) ??
    (await checkpointIn(deps, tenant, { min: from + 1, limit: 1 })) ??
    newest
  )
}

async function* recordsAfter(deps: Deps, tenant: string, after: number): AsyncGenerator<Chunk> {
  let page = FIRST_PAGE
  for (let at = after; ;) {
    const events = await storeCall(() => deps.store.events(tenant, at, page)).catch(refuseEarlier)
    const [first] = events
    if (first === undefined) return
    for (const { root, last } of await lostBefore(deps, tenant, { after: at, before: first.number })) {
      yield root
      at = last
    }
    // a page ends before the next lost file
    const together = events.filter(({ number }, i) => number === first.number + i)
    at += together.length
    yield together.map(({ body }) => body)
    page = nextPageSize(page, events, PAGE)
    await pause(PAUSE_MS)
  }
}

/** The lost files between two records. @throws TilesStopped inside of a file, which a place has only in part */
async function lostBefore(
  deps: Deps,
  tenant: string,
  { after, before }: { readonly after: number; readonly before: number },
): Promise<readonly RecordFile[]> {
  if (before === after + 1) return []
  if (after % WIDTH === 0) return storeCall(() => lostFiles(deps.store, tenant, after + 1, before - 1))
  throw new TilesStopped('place_behind', `the place ends at ${after}, inside of a lost record file`)
}

/** Names the place that lacks records which left the store. @throws TilesStopped; PlaceUnavailable; the error */
function refuseEarlier(error: unknown): never {
  const reason = error instanceof Error ? error.cause : undefined
  const cause = reason instanceof Error ? reason.cause : undefined
  if (reason instanceof Error && cause instanceof BadTile)
    throw new TilesStopped('place_behind', reason.message, { cause })
  throw cause instanceof PlaceUnavailable ? cause : error
}

/** Takes the lease of the tenant's log. Returns undefined while another writer has it. */
async function takeLease(
  deps: Deps,
  tiles: Tiles,
  { tenant, log }: { readonly tenant: string; readonly log: TenantLog },
): Promise<Lease | undefined> {
  const by = deps.nextId()
  const { answer } = await transact(deps, tenant, async () => {
    const found = await read(deps.store, tenant, 'tiles', HEAD)
    const now = deps.store.now()
    if (isHeld(found?.value.lease, now)) return { answer: undefined }
    const known = publishedAt(tiles, log, found) ?? {
      place: tiles.address,
      ...named(log),
      size: 0,
      before: 0,
    }
    const until = now + LEASE_MS
    return {
      answer: { by, until, known },
      guards: [unchanged('tiles', HEAD, found)],
      writes: [put('tiles', HEAD, { ...known, lease: { by, until } })],
    }
  })
  return answer
}

/** The first log needs no number. */
const named = ({ number }: TenantLog): Pick<TilesRecord, 'log'> => (number === 1 ? {} : { log: number })

/** A lease that is longer than any was taken before the clock of the store was set back. */
const isHeld = (lease: TilesRecord['lease'], now: number): boolean =>
  lease !== undefined && lease.until > now && lease.until <= now + LEASE_MS

/** Returns the new end of the lease. @throws PlaceUnavailable when another writer has it */
async function renewLease(deps: Deps, tenant: string, by: string): Promise<number> {
  const { answer } = await transact(deps, tenant, async () => {
    const found = await read(deps.store, tenant, 'tiles', HEAD)
    if (found?.value.lease?.by !== by) throw new PlaceUnavailable('another writer took the lease of the log')
    const until = deps.store.now() + LEASE_MS
    return {
      answer: until,
      guards: [unchanged('tiles', HEAD, found)],
      writes: [put('tiles', HEAD, { ...found.value, lease: { by, until } })],
    }
  })
  return answer
}

/** Ends the lease, and commits the published size. A writer that lost its lease commits nothing. */
async function endLease(
  deps: Deps,
  tenant: string,
  { by, known }: Lease,
  done: Done | undefined,
): Promise<void> {
  await transact(deps, tenant, async () => {
    const found = await read(deps.store, tenant, 'tiles', HEAD)
    if (found?.value.lease?.by !== by) return { answer: undefined }
    const { lease: _, ...kept } = known
    const now =
      done === undefined || done.published.size < known.size
        ? kept
        : { ...kept, before: done.before, ...done.published }
    return {
      answer: undefined,
      guards: [unchanged('tiles', HEAD, found)],
      writes: [put('tiles', HEAD, now)],
    }
  })
}
