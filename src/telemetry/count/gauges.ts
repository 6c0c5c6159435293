import { REQUEST_KINDS, type RequestKind } from '../../contract/operation.ts'
import { RISKS } from '../../domain/decision.ts'
import { FREEZE_KINDS } from '../../domain/freeze.ts'
import { LEGAL_HOLD_KINDS } from '../../domain/legal-hold.ts'
import { DAY_MS } from '../../gateway/integrity/size.ts'
import { TILES_STOPS, TILES_UNREADABLE } from '../../metrics/labels.ts'
import type { Census } from '../../gateway/jobs/backlog.ts'
import type { Instruments } from './instruments.ts'

/** Values that each scrape reads. */
export interface Readings {
  /** Returns true for a registered tool. All other tools count under `_other`. */
  knowsTool(name: string): boolean
  /** The store's clock, ms since 1970. */
  now(): number
  durability(): 'fsync' | 'replicated' | 'async'
  traffic(): Traffic
  /** Time that the oldest record has waited for its checkpoint, ms. */
  checkpointLagMs(): number
  tiles(): TilesReadings
  isReady(): Promise<boolean>
  /** True when the store has lost records of this gateway. */
  isStoreLost(): boolean
  /** Bytes of room in the store; undefined when unknown. */
  storeHealth(): Promise<{ readonly roomBytes?: number }>
  census(): Promise<Census>
}

export interface TilesReadings {
  /** Age of the oldest signed record that is not in tiles, ms. */
  readonly lagMs: number
  /** The number of tenants whose tiles stopped, by reason. */
  readonly stopped: ReadonlyMap<string, number>
  /** Records that cannot be read, since a time in ms since 1970, by reason. */
  readonly unreadable?: readonly { readonly reason: string; readonly since: number }[]
}

/** The current numbers of requests, connections, polls and streams. */
export interface Traffic {
  readonly requests: number
  readonly connections: number
  readonly polls: number
  readonly streams: number
  readonly underWay: OfKinds
  readonly waiting: OfKinds
  /** The numbers of refusals since the start. */
  readonly refused: OfKinds
}

type OfKinds = Readonly<Record<RequestKind, number>>

/** Maximum time that a scrape waits for each reading of the store, ms. A late census appears in the next scrape. */
const WAIT_MS = 2_000

/** Creates a function that reads the gauges at each scrape. The values of a census remain until the next census. */
export function createReader(instruments: Instruments, readings: Readings): () => Promise<void> {
  const showQueue = createQueueReader(instruments)
  let counted: { readonly at: number; readonly census?: Census } = { at: readings.now() }
  return async () => {
    const census = readings.census().then(
      (census) => {
        if (census === counted.census) return
        counted = { at: readings.now(), census }
        showCensus(instruments, census)
      },
      () => undefined,
    )
    const [roomBytes] = await Promise.all([takeReadings(instruments, readings), inTime(census)])
    const fills = fillsAt(readings.now(), roomBytes, counted.census?.sizes)
    instruments.setAll('storeFills', fills === undefined ? [] : [[{}, fills / 1000]])
    showQueue(readings.traffic())
    instruments.set('censusAge', {}, Math.max(0, readings.now() - counted.at) / 1000)
  }
}

/**
 * Creates the reader of the queue. Admission counts its refusals, and each scrape adds the refusals since the last
 * scrape.
 */
function createQueueReader(instruments: Instruments): (traffic: Traffic) => void {
  let before: OfKinds = { propose: 0, follow: 0, people: 0 }
  return ({ underWay, waiting, refused }) => {
    for (const kind of REQUEST_KINDS) {
      instruments.set('underWay', { kind }, underWay[kind])
      instruments.set('requestsWaiting', { kind }, waiting[kind])
      instruments.add('shed', { kind }, refused[kind] - before[kind])
    }
    before = refused
  }
}

/** Returns the room in the store; undefined when it is unknown. */
async function takeReadings(instruments: Instruments, readings: Readings): Promise<number | undefined> {
  const { requests, connections, polls, streams } = readings.traffic()
  instruments.set('httpInFlight', {}, requests)
  instruments.set('httpConnections', {}, connections)
  instruments.set('pollsHeld', {}, polls)
  instruments.set('streamsOpen', {}, streams)
  instruments.set('checkpointLag', {}, readings.checkpointLagMs() / 1000)
  const { lagMs, stopped, unreadable = [] } = readings.tiles()
  for (const reason of TILES_UNREADABLE) {
    const { since = readings.now() } = unreadable.find((one) => one.reason === reason) ?? {}
    instruments.set('tilesUnreadable', { reason }, Math.max(0, readings.now() - since) / 1000)
  }
  instruments.set('tilesLag', {}, lagMs / 1000)
  for (const reason of TILES_STOPS) instruments.set('tilesStopped', { reason }, stopped.get(reason) ?? 0)
  instruments.set('storeLost', {}, readings.isStoreLost() ? 1 : 0)
  instruments.set('clock', {}, readings.now() / 1000)
  instruments.setAll('storeInfo', [[{ durability: readings.durability() }, 1]])
  const asked = readings.storeHealth().catch(() => undefined)
  const isReady = await inTime(readings.isReady().catch(() => false))
  instruments.set('ready', {}, isReady === true ? 1 : 0)
  const { roomBytes } = (await inTime(asked)) ?? {}
  instruments.setAll('storeRoom', roomBytes === undefined ? [] : [[{}, roomBytes]])
  return roomBytes
}

/** The time at which the store is full, ms since 1970; undefined when its data does not grow. */
function fillsAt(now: number, roomBytes: number | undefined, sizes: Census['sizes']): number | undefined {
  const growth = Object.values(sizes?.kinds ?? {}).reduce((sum, one) => sum + (one.growth ?? 0), 0)
  return roomBytes === undefined || growth <= 0 ? undefined : now + (roomBytes / growth) * DAY_MS
}

async function inTime<T>(answer: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, WAIT_MS, undefined)
  })
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}

function showCensus(instruments: Instruments, census: Census): void {
  for (const risk of RISKS) {
    const { count, oldestAgeMs } = census.pending.get(risk) ?? { count: 0, oldestAgeMs: 0 }
    instruments.set('pending', { risk }, count)
    instruments.set('oldestPending', { risk }, oldestAgeMs / 1000)
  }
  instruments.set('unreported', {}, census.unreported)
  for (const scope of FREEZE_KINDS) instruments.set('frozen', { scope }, census.frozen.get(scope) ?? 0)
  for (const scope of LEGAL_HOLD_KINDS)
    instruments.set('legalHolds', { scope }, census.legalHolds.get(scope) ?? 0)
  const kinds = Object.entries(census.sizes?.kinds ?? {})
  instruments.setAll(
    'storeEntries',
    kinds.map(([kind, { count }]) => [{ kind }, count]),
  )
  instruments.setAll(
    'storeBytes',
    kinds.map(([kind, { bytes }]) => [{ kind }, bytes]),
  )
  instruments.setAll(
    'storeGrowth',
    kinds.flatMap(([kind, { growth }]) => (growth === undefined ? [] : [[{ kind }, growth] as const])),
  )
  const groups = [...census.groups].toSorted(([, a], [, b]) => b - a)
  instruments.setAll(
    'groupWaiting',
    groups.map(([group, count]) => [{ group }, count]),
  )
  instruments.set('webhooksWaiting', {}, census.deliveries)
  instruments.set('webhooksOverdue', {}, census.overdueMs / 1000)
  for (const reason of ['admin', 'failing', 'gone'] as const)
    instruments.set('webhooksPaused', { reason }, census.paused.get(reason) ?? 0)
}
