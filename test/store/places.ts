import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StoreArchive, StoreRestore } from '../../src/store/archive.ts'
import type { ClockSources } from '../../src/store/clock.ts'
import { openEmbeddedArchive, openEmbeddedRestore } from '../../src/store/embedded/archive.ts'
import { openEmbeddedStore } from '../../src/store/embedded/store.ts'
import { parseRedisAddress } from '../../src/store/redis/address.ts'
import { openRedisArchive } from '../../src/store/redis/archive.ts'
import { openRedisRestore } from '../../src/store/redis/restore.ts'
import { openRedisStore } from '../../src/store/redis/store.ts'
import type { Store } from '../../src/store/store.ts'
import { type RedisServer, startRedis } from '../redis/server.ts'

/** A place where a store lies, is read as a whole, or is brought back to. */
export interface Place {
  readonly kind: 'embedded' | 'redis'
  /** The value of COUNTERSIGN_STORE. */
  readonly address: string
  open(clock?: ClockSources): Promise<Store>
  archive(clock?: ClockSources): Promise<StoreArchive>
  restore(options?: { clock?: ClockSources; restart?: boolean }): Promise<StoreRestore>
}

export interface RedisPlace extends Place {
  /** One command on the database of the place. */
  ask(...command: readonly string[]): Promise<string>
}

/** Empty places of one test file; `dispose` removes them all. */
export class Places {
  #server: Promise<RedisServer> | undefined
  #databases = 0
  readonly #directories: string[] = []

  embedded(): Place & { readonly path: string } {
    const parent = mkdtempSync(join(tmpdir(), 'countersign-place-'))
    this.#directories.push(parent)
    const path = join(parent, 'data')
    const at = (clock?: ClockSources) => ({ path, ...(clock === undefined ? {} : { clock }) })
    return {
      kind: 'embedded',
      path,
      address: `file:${path}`,
      open: (clock) => openEmbeddedStore({ ...at(clock), minFreeBytes: 0 }),
      archive: (clock) => openEmbeddedArchive(at(clock)),
      restore: ({ clock } = {}) => openEmbeddedRestore(at(clock)),
    }
  }

  async redis(): Promise<RedisPlace> {
    this.#server ??= startRedis({ config: { databases: '1000' } })
    const server = await this.#server
    const database = this.#databases++
    const url = `${server.url}/${database}`
    const at = (clock?: ClockSources) => ({
      address: parseRedisAddress(url),
      ...(clock === undefined ? {} : { clock }),
    })
    return {
      kind: 'redis',
      address: url,
      ask: (...command) => server.askIn(database, ...command),
      open: (clock) => openRedisStore(at(clock)),
      archive: (clock) => openRedisArchive(at(clock)),
      restore: ({ clock, restart = false } = {}) => openRedisRestore({ ...at(clock), restart }),
    }
  }

  async of(kind: Place['kind']): Promise<Place> {
    return kind === 'embedded' ? this.embedded() : this.redis()
  }

  async dispose(): Promise<void> {
    await (await this.#server)?.dispose()
    for (const directory of this.#directories) rmSync(directory, { recursive: true, force: true })
  }
}
