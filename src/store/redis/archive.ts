import {
  compareText,
  type DumpEntry,
  type LiveContent,
  type Placed,
  type StoreArchive,
  StoreMoved,
  WrongPlace,
} from '../archive.ts'
import { connectRedis, type RedisOptions, refuseUnfinished } from './connect.ts'
import { dumpPartition, keysLike } from './dump.ts'
import { type KeySpace, keySpace, readKey } from './keys.ts'
import { connected, type Connection } from './connection.ts'
import { livePages } from './live.ts'
import type { Topology } from './topology.ts'
import { StoreUnavailable } from '../store.ts'

/**
 * Opens a store in Redis to read its whole content, while gateways use the store. The archive has its own connections,
 * so that no gateway waits for its reads.
 *
 * @throws UnsafeRedis, StoreUnavailable under the same conditions as the store
 */
export async function openRedisArchive(options: RedisOptions): Promise<RedisArchive> {
  const { topology } = await connectRedis(options)
  try {
    await refuseUnfinished(topology, options)
  } catch (error) {
    topology.close()
    throw error
  }
  return new RedisArchive(topology, options)
}

/**
 * Errors when the slots or the role of a server changed during the read. The caller must refresh the topology and
 * retry.
 */
const ELSEWHERE = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|MASTERDOWN|READONLY) /

export class RedisArchive implements StoreArchive, LiveContent {
  readonly #topology: Topology
  readonly #clock: RedisOptions['clock']
  protected readonly keys: KeySpace

  constructor(topology: Topology, { clock, deployment }: RedisOptions) {
    this.#topology = topology
    this.keys = keySpace(deployment)
    this.#clock = clock
  }

  now(): number {
    if (this.#clock !== undefined) return this.#clock.wall()
    const offsets = this.#topology.peers().flatMap((peer) => peer.clockOffset() ?? [])
    return Math.floor(performance.now() + Math.max(...offsets))
  }

  async time(): Promise<number> {
    let time = 0
    for (const connection of this.connections()) {
      for await (const heads of keysLike(connection, this.keys.heads)) {
        const times = await Promise.all(heads.map((head) => connection.sendCommand(['HGET', head, 't'])))
        time = Math.max(time, ...times.map(Number))
      }
    }
    return time
  }

  /** Reads all keys, not only heads, to find partitions without a head. */
  async partitions(): Promise<string[]> {
    const names = new Set<string>()
    for (const connection of this.connections())
      for await (const keys of keysLike(connection, this.keys.all))
        for (const key of keys) {
          const name = readKey(key)
          if (name !== undefined) names.add(name.partition)
        }
    return [...names].toSorted(compareText)
  }

  async *dump(partition: string): AsyncGenerator<DumpEntry> {
    try {
      yield* dumpPartition(this.connectionOf(partition), this.keys, partition)
    } catch (error) {
      if (!ELSEWHERE.test((error as Error).message))
        return await orUnavailable(Promise.reject(error as Error))
      this.#topology.refresh()
      throw new StoreMoved(`partition \`${partition}\` moved to another server`, { cause: error })
    }
  }

  /** @throws StoreUnavailable, also when the servers changed, because a part may then be missing */
  async *pages(): AsyncGenerator<readonly Placed[]> {
    const servers = this.#servers()
    try {
      for (const connection of this.connections()) yield* livePages(connection, this.keys)
    } catch (error) {
      await orUnavailable(Promise.reject(error as Error))
    }
    if (servers === '' || this.#servers() !== servers)
      throw new StoreUnavailable('the servers of Redis changed during the read')
  }

  #servers(): string {
    const names = this.#topology.peers().map(({ host }) => `${host.host}:${host.port}`)
    return names.toSorted(compareText).join(' ')
  }

  close(): Promise<void> {
    this.#topology.close()
    return Promise.resolve()
  }

  /** @throws StoreUnavailable */
  protected connectionOf(partition: string): Connection {
    return connected(this.#topology.peerOf(this.keys.of(partition).head))
  }

  /** One connection for each primary. @throws StoreUnavailable */
  protected connections(): Connection[] {
    return this.#topology.peers().map(connected)
  }
}

/**
 * Turns a connection failure into one sentence.
 *
 * @throws StoreUnavailable for connection failures; rethrows errors of this module unchanged
 */
export async function orUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (OURS.some((kind) => error instanceof kind)) throw error
    throw new StoreUnavailable(`redis: ${(error as Error).message}`, { cause: error })
  }
}

const OURS = [StoreMoved, WrongPlace, StoreUnavailable, RangeError]
