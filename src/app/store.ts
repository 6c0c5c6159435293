import type { Logger } from 'pino'
import { defined } from '../contract/defined.ts'
import { requireExpected, requireSaneClock } from './expected-store.ts'
import { SYSTEM } from '../gateway/core/records.ts'
import type { Places } from './places.ts'
import { storeOfWholeLog } from './whole-log.ts'
import type { Config } from '../settings/settings.ts'
import { type LiveContent, pagesOf, type StoreArchive, type StoreRestore } from '../store/archive.ts'
import type { Compaction } from '../store/embedded/compact.ts'
import { requireStore } from '../store/embedded/files.ts'
import { type EmbeddedOptions, type EmbeddedStore, openEmbeddedStore } from '../store/embedded/store.ts'
import type { RedisOptions } from '../store/redis/connect.ts'
import type { Ahead } from '../store/redis/times.ts'
import type { Store } from '../store/store.ts'

/*
 * Opens the store of the configuration for work, for reading its whole content, or for a restore. The adapter for
 * Redis and the modules of maintenance commands load on demand, because they would slow every start.
 */

/**
 * Opens the store for a gateway, and first compacts an embedded store that is mostly free.
 *
 * @throws also when it is not the expected store, or the clock is doubtful
 */
export async function openExpectedStore(
  config: Config,
  { log, places }: { readonly log: Pick<Logger, 'info'>; readonly places: Places | undefined },
): Promise<Store> {
  const checkTime = (writtenAt: number, now: number): void =>
    requireSaneClock(writtenAt, now, config.acceptClock)
  const note = (facts: object, text: string): void => log.info(facts, text)
  const store = await openChecked(config, { checkTime, compact: { note } })
  try {
    await requireExpected(storeOfWholeLog(store, places), config)
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

async function openChecked(
  config: Config,
  atStart: Required<Pick<EmbeddedOptions, 'checkTime' | 'compact'>>,
): Promise<Store> {
  const { store } = config
  if (store.kind === 'embedded') {
    if (config.storeExpect !== undefined) requireStore(store.path)
    return openEmbedded(config, { path: store.path, ...atStart })
  }
  for (const { seen, ms } of await timesInRedis(config, [SYSTEM])) atStart.checkTime(seen, seen - ms)
  return openStore(config)
}

export async function openStore(config: Config): Promise<Store> {
  if (config.store.kind === 'embedded') return openEmbedded(config, { path: config.store.path })
  const { openRedisStore } = await import('../store/redis/store.ts')
  return openRedisStore(redisOptions(config))
}

const openEmbedded = (
  config: Config,
  place: Pick<EmbeddedOptions, 'path' | 'checkTime' | 'compact'>,
): Promise<Store> => {
  const { storeMinFree: minFreeBytes, storeNewCallsMinFree } = config
  return openEmbeddedStore({
    ...embeddedPlace(config, place.path),
    ...place,
    minFreeBytes,
    newWorkBytes: Math.max(minFreeBytes, storeNewCallsMinFree),
  })
}

const embeddedPlace = ({ deployment }: Config, path: string) => ({ path, ...defined({ deployment }) })

export async function openArchive(config: Config): Promise<StoreArchive> {
  if (config.store.kind === 'embedded') {
    const { openEmbeddedArchive } = await import('../store/embedded/archive.ts')
    return openEmbeddedArchive(embeddedPlace(config, config.store.path))
  }
  const { openRedisArchive } = await import('../store/redis/archive.ts')
  return openRedisArchive(redisOptions(config))
}

/** Opens a gateway's store to measure it while it changes. */
export async function openLive(
  config: Config,
  store: Store,
): Promise<LiveContent & Pick<StoreArchive, 'close'>> {
  if (config.store.kind !== 'embedded') {
    const { openRedisArchive } = await import('../store/redis/archive.ts')
    return openRedisArchive(redisOptions(config))
  }
  const live = store as EmbeddedStore
  return {
    now: () => live.now(),
    pages: () => pagesOf(live),
    close: () => Promise.resolve(),
  }
}

/** Returns free pages of a stopped embedded store to the disk. @throws as openStore */
export async function compactStore(config: Config): Promise<Compaction> {
  if (config.store.kind !== 'embedded') throw new TypeError('the store is not embedded')
  const { compactEmbedded } = await import('../store/embedded/compact.ts')
  return compactEmbedded(embeddedPlace(config, config.store.path))
}

export interface RestoreOptions {
  /** Drops the remains of an interrupted restore in Redis. */
  readonly restart: boolean
}

export async function openRestore(config: Config, { restart }: RestoreOptions): Promise<StoreRestore> {
  if (config.store.kind === 'embedded') {
    const { openEmbeddedRestore } = await import('../store/embedded/archive.ts')
    return openEmbeddedRestore(embeddedPlace(config, config.store.path))
  }
  const { openRedisRestore } = await import('../store/redis/restore.ts')
  return openRedisRestore({ ...redisOptions(config), restart })
}

/** Returns the number of replicas of each Redis server, connected or connecting. @throws as openStore */
export async function countReplicas(
  config: Config,
): Promise<{ readonly server: string; readonly replicas: number }[]> {
  const { connectRedis } = await import('../store/redis/connect.ts')
  const { topology } = await connectRedis(redisOptions(config))
  const found = topology.peers().map((peer) => {
    const { host, port } = peer.host
    return { server: `${host}:${port}`, replicas: peer.facts()?.replicas ?? 0 }
  })
  topology.close()
  return found
}

/** Returns the differences, in ms, between partitions in Redis and their server's clock. @throws as openStore */
export async function timesInRedis(config: Config, partitions: readonly string[]): Promise<readonly Ahead[]> {
  const { timesOf } = await import('../store/redis/times.ts')
  return timesOf(redisOptions(config), partitions)
}

/** Returns the options for Redis. Credentials in the address take precedence over separate settings. */
export function redisOptions(config: Config): RedisOptions {
  const { store, sentinelPassword, durability, deployment } = config
  const { storeUsername: username, storePassword: password, storeAccept: accept = [] } = config
  if (store.kind !== 'redis') throw new TypeError('the store is not on Redis')
  return {
    address: { ...defined({ username, password }), ...store.address },
    replicas: config.storeReplicas,
    accept,
    callMs: config.storeDeadline,
    ...defined({ sentinelPassword, durability, deployment }),
  }
}
