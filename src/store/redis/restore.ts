import { randomUUID } from 'node:crypto'
import { type StoredEntry, type StoreRestore, WrongPlace } from '../archive.ts'
import { FORMAT } from '../../domain/format.ts'
import { orUnavailable, RedisArchive } from './archive.ts'
import { connected } from './connection.ts'
import { keysLike } from './dump.ts'
import { encodeMember, type PartitionKeys } from './keys.ts'
import { createConfirmations } from './replication-wait.ts'
import type { Connection, Peer } from './connection.ts'
import { SCRIPTS } from './scripts.ts'
import { connectRedis, type RedisOptions } from './connect.ts'
import type { Topology } from './topology.ts'
import { STORE_LIMITS, StoreUnavailable } from '../store.ts'

export interface RedisRestoreOptions extends RedisOptions {
  /** Deletes an interrupted restore, which no gateway could ever open. */
  readonly restart?: boolean
}

/** Limits of the pipeline: code units, commands, and members of one command. */
const PIPELINE_UNITS = 500_000
const PIPELINE_COMMANDS = 2_000
const MEMBERS_PER_COMMAND = 200
/**
 * The tolerated difference between two machines' clocks. A greater difference would make every commit late until the
 * server's clock catches up.
 */
const CLOCK_TOLERANCE_MS = 5_000

/**
 * Prepares a restore into Redis. Until `publish`, a marker keeps every gateway from opening the store.
 *
 * @throws WrongPlace when the server already has a store or another restore; UnsafeRedis and StoreUnavailable under the
 * same conditions as the store
 */
export async function openRedisRestore(options: RedisRestoreOptions): Promise<StoreRestore> {
  const { topology } = await connectRedis(options)
  const restore = new RedisRestore(topology, options)
  try {
    await orUnavailable(restore.begin(options.restart ?? false))
    return restore
  } catch (error) {
    topology.close()
    throw error
  }
}

class RedisRestore extends RedisArchive implements StoreRestore {
  readonly #topology: Topology
  readonly #options: RedisRestoreOptions
  /**
   * The id of this restore in the marker. The id is also the generation of every partition, which starts a new epoch
   * (S19).
   */
  readonly #id = randomUUID()
  readonly #firstNumbers = new Map<string, number>()
  readonly #lastNumbers = new Map<string, number>()
  #partition = ''
  #commands: string[][] = []
  #units = 0

  constructor(topology: Topology, options: RedisRestoreOptions) {
    super(topology, options)
    this.#topology = topology
    this.#options = options
  }

  async begin(restart: boolean): Promise<void> {
    const marker = this.#markerServer()
    if ((await marker.sendCommand(['GET', this.keys.restoring])) !== null) {
      if (!restart) throw unfinished()
      await marker.sendCommand(['SET', this.keys.restoring, this.#id])
      await this.#removeAll()
    } else {
      await this.#refuseStore()
      const set = await marker.sendCommand(['SET', this.keys.restoring, this.#id, 'NX'])
      if (set === null) throw unfinished()
    }
    try {
      await this.#refuseStore()
    } catch (error) {
      await this.#removeMarker()
      throw error
    }
  }

  async load(partition: string, entry: StoredEntry): Promise<void> {
    if (partition !== this.#partition) await orUnavailable(this.#flush())
    this.#partition = partition
    if (entry.kind === 'event' && this.#last(partition) === 0) this.#firstNumbers.set(partition, entry.number)
    this.#lastNumbers.set(partition, entry.kind === 'event' ? entry.number : this.#last(partition))
    this.#push(partition, entry)
    if (this.#units >= PIPELINE_UNITS || this.#commands.length >= PIPELINE_COMMANDS)
      await orUnavailable(this.#flush())
  }

  settle(time: number): Promise<void> {
    return orUnavailable(this.#settle(time))
  }

  async #settle(time: number): Promise<void> {
    await this.#flush()
    const ahead = time - this.now()
    if (ahead > CLOCK_TOLERANCE_MS)
      throw new WrongPlace(`the server's clock is ${ahead} ms behind the latest time in the backup`)
    for (const [partition, last] of this.#lastNumbers) {
      const first = this.#firstNumbers.get(partition) ?? 1
      const numbers = [
        ...(last === 0 ? [] : ['n', String(last)]),
        ...(first === 1 ? [] : ['f', String(first)]),
      ]
      const fields = ['t', String(time), 'g', this.#id, 'v', FORMAT, ...numbers]
      await this.connectionOf(partition).sendCommand(['HSET', this.keys.of(partition).head, ...fields])
    }
    await this.#confirm()
  }

  async publish(): Promise<void> {
    let removed: boolean
    try {
      removed = await orUnavailable(this.#removeMarker())
    } finally {
      await this.close()
    }
    if (!removed) throw new WrongPlace('another restore took the place of this one')
  }

  /**
   * Empties the place. When the server is unreachable, the marker remains. No gateway opens the store, and the next
   * restore can start over.
   */
  async abandon(): Promise<void> {
    this.#commands = []
    try {
      const own = await this.#markerServer().sendCommand(['GET', this.keys.restoring])
      if (own === this.#id) await this.#removeAll()
      await this.#removeMarker()
    } catch {
      // ignores the error, because the caller that abandons the restore reports the cause
    } finally {
      await this.close()
    }
  }

  #last(partition: string): number {
    return this.#lastNumbers.get(partition) ?? 0
  }

  #push(partition: string, entry: StoredEntry): void {
    const keys = this.keys.of(partition)
    const command = commandOf(keys, entry)
    const before = this.#commands.at(-1)
    const joins =
      entry.kind === 'index' &&
      before !== undefined &&
      before[0] === 'ZADD' &&
      before[1] === command[1] &&
      before.length < 2 * MEMBERS_PER_COMMAND
    if (joins) before.push(...command.slice(2))
    else this.#commands.push(command)
    if (entry.kind === 'event' && entry.disclosures !== undefined) {
      this.#commands.push(['XADD', keys.disclosures, `${entry.number}-0`, 'd', entry.disclosures])
      this.#units += entry.disclosures.length
    }
    this.#units += unitsOf(entry, command)
  }

  async #flush(): Promise<void> {
    const commands = this.#commands
    this.#commands = []
    this.#units = 0
    if (commands.length === 0) return
    const connection = this.connectionOf(this.#partition)
    await Promise.all(commands.map((command) => connection.sendCommand(command)))
  }

  /** Confirms the loaded entries on each server. A replica with a later write has all of them. */
  async #confirm(): Promise<void> {
    const { replicas = 0, callMs = STORE_LIMITS.callMs } = this.#options
    if (replicas === 0) return
    const confirmations = createConfirmations(replicas, callMs)
    const heads = new Map<Peer, string>()
    for (const partition of this.#lastNumbers.keys()) {
      const { head } = this.keys.of(partition)
      const peer = this.#topology.peerOf(head)
      if (peer !== undefined) heads.set(peer, head)
    }
    for (const [peer, head] of heads) {
      const epoch = await connected(peer).sendCommand(['EVAL', SCRIPTS.epoch.source, '1', head])
      if (!(await confirmations.confirmed(peer, head, String(epoch))))
        throw new StoreUnavailable('the replicas did not confirm in time')
    }
  }

  #markerServer(): Connection {
    return connected(this.#topology.peerOf(this.keys.restoring))
  }

  async #refuseStore(): Promise<void> {
    for (const connection of this.connections())
      for await (const keys of keysLike(connection, this.keys.all))
        if (keys.some((key) => key !== this.keys.restoring))
          throw new WrongPlace('there is a store in this Redis already: restore into an empty one')
  }

  async #removeAll(): Promise<void> {
    for (const connection of this.connections())
      for await (const keys of keysLike(connection, this.keys.all))
        await Promise.all(
          keys
            .filter((key) => key !== this.keys.restoring)
            .map((key) => connection.sendCommand(['UNLINK', key])),
        )
  }

  /** False when another restore has set the marker. */
  async #removeMarker(): Promise<boolean> {
    const script = `return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0`
    return (
      (await this.#markerServer().sendCommand(['EVAL', script, '1', this.keys.restoring, this.#id])) === 1
    )
  }
}

function unfinished(): WrongPlace {
  return new WrongPlace('another restore into this store is under way, or was broken off')
}

const unitsOf = (entry: StoredEntry, command: readonly string[]): number => {
  if ('body' in entry) return entry.body.length
  return 'text' in entry ? entry.text.length : command.length * 50
}

function commandOf(keys: PartitionKeys, entry: StoredEntry): string[] {
  switch (entry.kind) {
    case 'disclosures':
      return ['XADD', keys.disclosures, `${entry.number}-0`, 'd', entry.text]
    case 'event':
      return ['XADD', keys.events, `${entry.number}-0`, 'c', entry.commitId, 'b', entry.body]
    case 'index':
      return ['ZADD', keys.index(entry.index), String(entry.score), encodeMember(entry.member)]
    case 'limit':
      return ['SET', keys.limit(entry.limit), [entry.width, ...entry.buckets.flat()].join(' ')]
    case 'record':
      return ['SET', keys.record(entry.type, entry.id), `${entry.revision} ${entry.commitId}\n${entry.body}`]
  }
}
