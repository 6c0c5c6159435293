import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Deps } from '../gateway/core/deps.ts'
import type { LogIdentity } from '../gateway/jobs/checkpoints.ts'
import type { LossWatch } from '../gateway/jobs/loss-watch.ts'
import { type Behind, lookAtTiles, publishTiles, type Tiles } from '../gateway/jobs/publish-tiles.ts'
import { FORGET } from '../gateway/jobs/retention.ts'
import { SYSTEM } from '../gateway/core/records.ts'
import { listTenants } from '../gateway/core/tenants.ts'
import type { TilesReadings } from '../telemetry/count/gauges.ts'
import { readNote, sizeIn } from '../tiles/log.ts'
import { type Stop, TilesStopped } from '../tiles/stops.ts'
import { saysTrouble } from './outage-log.ts'
import type { Places } from './places.ts'

/** Publishes tiles in rounds. */

export const tilesOf = (identity: LogIdentity, places: Places): Tiles => ({
  identity,
  address: places.address,
  placeOf: (tenant, log) => places.of(tenant, log),
})

/** Publishes the tiles of all tenants while the gateway runs. */
export interface TilesWriter {
  /** Called when records of the tenant were signed. */
  noted(tenant: string): void
  /** The age of the oldest signed record that is not in tiles, and the tenants whose tiles stopped. */
  readings(): TilesReadings
  close(): Promise<void>
}

export const NO_TILES: TilesWriter = {
  noted: () => undefined,
  readings: () => ({ lagMs: 0, stopped: new Map() }),
  close: () => Promise.resolve(),
}

export interface WriterParts {
  readonly identity: LogIdentity
  readonly watch: Pick<LossWatch, 'requireSameStore'>
  readonly log: Pick<Logger, 'error'>
  /** True while calls wait for their turn. */
  readonly isBusy: () => boolean
  /** Time between two rounds, ms. */
  readonly everyMs: number | undefined
}

const EVERY_MS = 5_000
/** The number of rounds between two looks at all tenants: other instances write records, too. */
const LOOK_AT_ALL_EVERY = 12
/** Most bundles that leave the store between two looks at all tenants: a thousand records a second. */
const BUNDLES_AT_ONCE = 256
/** Pause after each, in multiples of its time: decisions come first. */
const PAUSES = 4
/** Time until the next look whether calls still wait, ms. */
const BUSY_MS = 50
/** Time until the next attempt after a stop, ms. */
const STOPPED_MS = 600_000
/** Time that a shutdown waits for a slow place, ms. */
const CLOSE_MS = 2_000

export const startTiles = (deps: Deps, places: Places | undefined, parts: WriterParts): TilesWriter =>
  places === undefined ? NO_TILES : new Writer(deps, places, parts)

interface State {
  readonly since?: number | undefined
  readonly stop?: { readonly reason: Stop; readonly at: number } | undefined
  /** True until the place was compared with the store, after the start or a stop: the store may have gone back. */
  readonly isDoubtful: boolean
}

const UNKNOWN: State = { isDoubtful: true }

class Writer implements TilesWriter {
  readonly #deps: Deps
  readonly #places: Places
  readonly #parts: WriterParts
  readonly #tiles: Tiles
  readonly #end = new AbortController()
  readonly #states = new Map<string, State>()
  readonly #noted = new Set<string>()
  readonly #sayTrouble: (error: unknown) => void
  #rounds = 0
  #timer: NodeJS.Timeout | undefined
  #running = Promise.resolve()

  constructor(deps: Deps, places: Places, parts: WriterParts) {
    this.#deps = deps
    this.#places = places
    this.#parts = parts
    this.#tiles = tilesOf(parts.identity, places)
    this.#sayTrouble = saysTrouble(parts.log, 'tiles cannot be published now')
    this.#plan()
  }

  noted(tenant: string): void {
    this.#noted.add(tenant)
  }

  readings(): TilesReadings {
    const states = [...this.#states.values()]
    const since = Math.min(...states.map(({ since = Infinity }) => since))
    const stopped = new Map<Stop, number>()
    for (const { stop } of states)
      if (stop !== undefined) stopped.set(stop.reason, (stopped.get(stop.reason) ?? 0) + 1)
    return { lagMs: since === Infinity ? 0 : Math.max(0, this.#deps.store.now() - since), stopped }
  }

  async close(): Promise<void> {
    this.#end.abort()
    clearTimeout(this.#timer)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_MS)
    })
    await Promise.race([this.#running, late])
    clearTimeout(timer)
    this.#places.close()
  }

  #plan(waitMs = this.#parts.everyMs ?? EVERY_MS): void {
    this.#timer = setTimeout(() => {
      this.#running = this.#round().then((isMore) => {
        if (!this.#end.signal.aborted) this.#plan(isMore ? 0 : undefined)
      })
    }, waitMs)
  }

  /**
   * Looks at the tenants, and publishes once for each that is due: no tenant waits for all the records of another.
   * Returns true when more is due at once.
   */
  async #round(): Promise<boolean> {
    let isMore = false
    try {
      await this.#parts.watch.requireSameStore()
      const all = this.#rounds++ % LOOK_AT_ALL_EVERY === 0
      const tenants = all ? [SYSTEM, ...(await listTenants(this.#deps))] : [...this.#noted]
      const due: string[] = []
      for (const tenant of tenants) if (await this.#try(tenant, () => this.#isDue(tenant))) due.push(tenant)
      for (const tenant of due) if (await this.#try(tenant, () => this.#publish(tenant))) isMore = true
      if (all) for (const tenant of tenants) await this.#try(tenant, () => this.#removeOld(tenant))
    } catch (error) {
      this.#sayTrouble(error)
    }
    return isMore
  }

  async #try(tenant: string, work: () => Promise<boolean>): Promise<boolean> {
    if (this.#end.signal.aborted) return false
    try {
      return await work()
    } catch (error) {
      this.#failed(tenant, error)
      return false
    }
  }

  #stateOf(tenant: string): State {
    return this.#states.get(tenant) ?? UNKNOWN
  }

  /** Compares the tiles of a tenant with its signed evidence. Returns true when a publication is due. */
  async #isDue(tenant: string): Promise<boolean> {
    const { stop, isDoubtful } = this.#stateOf(tenant)
    if (stop !== undefined && this.#deps.store.now() - stop.at < STOPPED_MS) return false
    this.#noted.delete(tenant)
    const behind = await lookAtTiles(this.#deps, this.#tiles, tenant)
    const { since } = behind
    const isDue = behind.isDue || (isDoubtful && (await this.#differs(tenant, behind)))
    // only a publication ends the doubt in a place that differs, and the gateway may have to wait for it
    this.#states.set(tenant, isDue ? { since, stop, isDoubtful } : { since, isDoubtful: false })
    if (since !== undefined) this.#noted.add(tenant)
    return isDue
  }

  /** Publishes once. Returns true when more is due. */
  async #publish(tenant: string): Promise<boolean> {
    if (this.#mustWait()) return false
    // another writer has the lease
    if (!(await publishTiles(this.#deps, this.#tiles, tenant, this.#end.signal))) return false
    this.#states.set(tenant, { since: this.#stateOf(tenant).since, isDoubtful: false })
    return this.#isDue(tenant)
  }

  /** Removes records from the store that are in tiles for long. */
  async #removeOld(tenant: string): Promise<boolean> {
    const { stop, isDoubtful } = this.#stateOf(tenant)
    if (stop !== undefined || isDoubtful) return false
    // also in a store that is short of room, because that makes room
    for (let bundles = 0; bundles < BUNDLES_AT_ONCE && !this.#end.signal.aborted; bundles++) {
      const begun = performance.now()
      if (!(await FORGET.log_in_store(this.#deps, this.#tiles, tenant))) return false
      await pause(PAUSES * (performance.now() - begun))
      while (this.#parts.isBusy() && !this.#end.signal.aborted) await pause(BUSY_MS)
    }
    return true
  }

  /** True while this gateway ends, or the rest of the disk is for the store. */
  #mustWait(): boolean {
    const isShort = this.#places.onStoreDisk && this.#deps.store.shortOfRoom() !== undefined
    return isShort || this.#end.signal.aborted
  }

  /** True when the place has more or fewer records than were published: the store may have gone back. */
  async #differs(tenant: string, { log, published }: Behind): Promise<boolean> {
    const found = await readNote(this.#places.of(tenant, log))
    return (found === undefined ? 0 : sizeIn(found.note)) !== published
  }

  #failed(tenant: string, error: unknown): void {
    const { since, stop } = this.#stateOf(tenant)
    if (this.#end.signal.aborted) return
    this.#noted.add(tenant)
    if (!(error instanceof TilesStopped)) return this.#sayTrouble(error)
    if (stop?.reason !== error.stop)
      this.#parts.log.error(
        { tenant, reason: error.stop, err: error },
        'the tiles of a tenant have stopped (docs/runbooks/CountersignTilesStopped.md); decisions and evidence continue',
      )
    const at = this.#deps.store.now()
    this.#states.set(tenant, { since, stop: { reason: error.stop, at }, isDoubtful: true })
  }
}
