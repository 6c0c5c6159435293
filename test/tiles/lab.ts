import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Places } from '../../src/app/places.ts'
import { commitIds, depsOf, randomSource } from '../../src/app/deps.ts'
import { signingKeyOf } from '../../src/domain/checkpoint.ts'
import type { Deps } from '../../src/gateway/core/deps.ts'
import { type LogIdentity, makeCheckpoint } from '../../src/gateway/jobs/checkpoints.ts'
import { publishTiles } from '../../src/gateway/jobs/publish-tiles.ts'
import { removePublished } from '../../src/gateway/jobs/remove-published.ts'
import type { ExplainingSnapshot } from '../../src/policy/evaluate/explanation.ts'
import type { Config } from '../../src/settings/config.ts'
import type { Store } from '../../src/store/store.ts'
import { directoryPlace } from '../../src/tiles/directory/directory-place.ts'
import type { Place } from '../../src/tiles/place.ts'
import { commitOf } from '../store/commit-of.ts'
import { openTestStore } from '../test-store.ts'

/** A store with records of one tenant, whose clock a test moves, and places for its tiles. */
export const TENANT = 'acme'
/** How long the history of a task stays. */
export const TASKS_MS = 40 * 24 * 3_600_000
const START = Date.UTC(2026, 2, 2, 12)

export const IDENTITY: LogIdentity = { name: 'lab', key: signingKeyOf(Buffer.alloc(32, 1)) }

export interface LabOptions {
  /** Puts a double before each place. */
  readonly wrap?: (place: Place) => Place
}

export class Lab {
  readonly directory = mkdtempSync(join(tmpdir(), 'countersign-tiles-'))
  now = START
  identity = IDENTITY
  /** How long records of evidence stay in the store, ms; undefined while no bundle is in force. */
  logInStoreMs: number | undefined
  /** The address of the places, as the settings name it. */
  address = 'tiles'
  wrap: (place: Place) => Place = (place) => place
  readonly #deps = new Map<string, Promise<Deps>>()
  readonly #stores: Store[] = []

  /** The gateway on a store. Each name is another store. */
  on(name = 'data'): Promise<Deps> {
    const known = this.#deps.get(name)
    if (known !== undefined) return known
    const opened = this.#open(name)
    this.#deps.set(name, opened)
    return opened
  }

  async #open(name: string): Promise<Deps> {
    const clock = { wall: () => this.now, monotonic: () => this.now }
    const store = await openTestStore(join(this.directory, name), clock)
    this.#stores.push(store)
    const random = randomSource()
    return depsOf({ storeDeadline: 30_000 } as Config, {
      store,
      policies: {
        current: () =>
          this.logInStoreMs === undefined
            ? undefined
            : ({
                retention: { log_in_store_ms: this.logInStoreMs, tasks_ms: TASKS_MS },
              } as ExplainingSnapshot),
        status: () => ({}),
        trial: () => Promise.resolve({ ok: false, diagnostics: [] }),
      },
      random,
      nextCommitId: commitIds(random),
      commitmentSecret: random(32),
      enqueued: () => undefined,
      threadUrl: () => '',
      observe: () => undefined,
    })
  }

  /** Closes a store. */
  async leave(name: string): Promise<void> {
    const { store } = await this.on(name)
    await store.close()
    this.#stores.splice(this.#stores.indexOf(store), 1)
    this.#deps.delete(name)
  }

  /** Adds records, and signs them. */
  async add(
    count: number,
    { to = 'data', text = '', tenant = TENANT }: { to?: string; text?: string; tenant?: string } = {},
  ): Promise<void> {
    const { store } = await this.on(to)
    const at = new Date(this.now).toISOString()
    const TOGETHER = 5_000
    for (let left = count; left > 0; left -= TOGETHER) {
      const events = Array.from({ length: Math.min(TOGETHER, left) }, (_, i) =>
        JSON.stringify({ at, n: left - i, text }),
      )
      await store.commit(
        tenant,
        commitOf(store, { commitId: `${to}-${count}-${left}-${this.now++}`, events }),
      )
    }
    while ((await makeCheckpoint(await this.on(to), this.identity, tenant)).more);
  }

  placeAt(log = 1, tenant = TENANT): Place {
    return directoryPlace(join(this.directory, this.address, tenant, ...(log === 1 ? [] : [String(log)])))
  }

  /** The places as a gateway opens them. */
  places(other: Partial<Places> = {}): Places {
    return {
      address: this.address,
      onStoreDisk: false,
      of: (tenant, log) => this.placeAt(log, tenant),
      close: () => undefined,
      ...other,
    }
  }

  get tiles() {
    return {
      identity: this.identity,
      address: this.address,
      placeOf: (_: string, log: number) => this.wrap(this.placeAt(log)),
    }
  }

  async publish(from = 'data', stop = new AbortController().signal): Promise<void> {
    await publishTiles(await this.on(from), this.tiles, TENANT, stop)
  }

  /** Removes what may leave the store. Returns the number of the first record that stays. */
  async remove(from = 'data'): Promise<number> {
    const deps = await this.on(from)
    while (await removePublished(deps, this.tiles, TENANT));
    return deps.store.firstEvent(TENANT)
  }

  async dispose(): Promise<void> {
    for (const store of this.#stores) await store.close()
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** The methods of a place that change files. */
const CHANGES = ['create', 'replace', 'remove'] as const
export type Change = (typeof CHANGES)[number]

/** A place that runs `before` and `after` around each change. */
export function watched(
  place: Place,
  around: {
    readonly before?: (change: Change, path: string) => unknown
    readonly after?: (change: Change, path: string) => unknown
  },
): Place {
  const doing = async <T>(change: Change, path: string, work: () => Promise<T>): Promise<T> => {
    await around.before?.(change, path)
    const answer = await work()
    await around.after?.(change, path)
    return answer
  }
  return {
    name: place.name,
    read: (path) => place.read(path),
    list: (folder) => place.list(folder),
    create: (path, bytes) => doing('create', path, () => place.create(path, bytes)),
    replace: (path, bytes, version) => doing('replace', path, () => place.replace(path, bytes, version)),
    remove: (path) => doing('remove', path, () => place.remove(path)),
  }
}
