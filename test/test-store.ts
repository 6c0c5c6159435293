import type { ClockSources } from '../src/store/clock.ts'
import { openEmbeddedStore } from '../src/store/embedded/store.ts'
import { parseRedisAddress } from '../src/store/redis/address.ts'
import { openRedisStore } from '../src/store/redis/store.ts'
import type { Store } from '../src/store/store.ts'
import { type RedisServer, startRedis } from './redis/server.ts'

/*
 * The store that a test's gateway runs on. vitest.config.ts starts the files that say so (test/marks.ts) once more with
 * COUNTERSIGN_TEST_STORE=redis, where each directory stands for a database of one server.
 */
const databases = new Map<string, number>()
let server: Promise<RedisServer> | undefined
let isElsewhere = false

/** A test opened a store of its own on a Redis that it started itself. */
export const openedElsewhere = (): void => {
  isElsewhere = true
}

export async function openTestStore(directory: string, clock: ClockSources): Promise<Store> {
  if (process.env['COUNTERSIGN_TEST_STORE'] !== 'redis')
    return openEmbeddedStore({ path: directory, minFreeBytes: 0, clock })
  server ??= startRedis({ config: { databases: '2000' } })
  const { url } = await server
  const database = databases.get(directory) ?? databases.size
  databases.set(directory, database)
  return openRedisStore({ address: parseRedisAddress(`${url}/${database}`), clock })
}

/** Ends the server, and all that is in it. Returns whether the file opened a store on Redis. */
export async function endTestStore(): Promise<boolean> {
  const ended = server
  const wasElsewhere = isElsewhere
  server = undefined
  isElsewhere = false
  databases.clear()
  await (await ended)?.dispose()
  return ended !== undefined || wasElsewhere
}
