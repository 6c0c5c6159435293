import type { KeySpace } from './keys.ts'
import type { Peer } from './connection.ts'
import type { Topology } from './topology.ts'
import type { RecordName } from '../store.ts'
import { createWatchers } from '../watchers.ts'

export interface WakingOptions {
  readonly topology: Topology
  readonly keys: KeySpace
  /** A value that changes with each commit that would wake the waiter. */
  readonly version: (partition: string, record: RecordName | undefined) => Promise<string>
}

interface Subscription {
  readonly channel: string
  readonly partition: string
  readonly record: RecordName | undefined
  waiting: number
  /** The server that the subscription uses; undefined without one. */
  peer: Peer | undefined
  lingering: NodeJS.Timeout | undefined
}

/**
 * The time that a subscription remains after its last waiter, so that a caller that waits in rounds subscribes once.
 */
const LINGER_MS = 3_000

/**
 * Wakes waiters across instances (S11). Each commit publishes to a channel of its partition, and to a channel of each
 * record that it wrote. An instance subscribes to the channels that its callers wait for. The channels are sharded, so
 * in a cluster only the partition's node carries them. Messages can be lost (a new connection, a failover). Callers
 * therefore re-read from time to time, and each new subscription compares versions.
 */
export class Waking {
  readonly #options: WakingOptions
  readonly #watchers = createWatchers()
  readonly #subscriptions = new Map<string, Subscription>()

  constructor(options: WakingOptions) {
    this.#options = options
  }

  async wait(partition: string, signal: AbortSignal, record?: RecordName): Promise<void> {
    if (signal.aborted) return
    const keys = this.#options.keys.of(partition)
    const channel = record === undefined ? keys.channel : keys.recordChannel(record.type, record.id)
    const woken = this.#watchers.wait(partition, signal, record)
    this.#join(channel, partition, record)
    await woken
    this.#leave(channel)
  }

  /** Wakes the waiters of this process directly, without a message. */
  landed(partition: string, records: readonly RecordName[]): void {
    this.#watchers.wake(partition)
    for (const record of records) this.#watchers.wake(partition, record)
  }

  /** Subscribes at the servers that now hold the partitions. */
  serversChanged(): void {
    for (const subscription of this.#subscriptions.values()) void this.#listen(subscription)
  }

  close(): void {
    this.#watchers.wakeAll()
    for (const { lingering } of this.#subscriptions.values()) clearTimeout(lingering)
    this.#subscriptions.clear()
  }

  #join(channel: string, partition: string, record: RecordName | undefined): void {
    let subscription = this.#subscriptions.get(channel)
    if (subscription === undefined) {
      subscription = { channel, partition, record, waiting: 0, peer: undefined, lingering: undefined }
      this.#subscriptions.set(channel, subscription)
    }
    clearTimeout(subscription.lingering)
    subscription.waiting += 1
    void this.#listen(subscription)
  }

  #leave(channel: string): void {
    const subscription = this.#subscriptions.get(channel)
    if (subscription === undefined) return
    subscription.waiting -= 1
    if (subscription.waiting > 0) return
    subscription.lingering = setTimeout(() => {
      this.#subscriptions.delete(channel)
      subscription.peer?.unsubscribe(channel).catch(() => undefined)
    }, LINGER_MS)
    subscription.lingering.unref()
  }

  /** Subscribes at the partition's current server, unless the subscription is already there. */
  async #listen(subscription: Subscription): Promise<void> {
    const { topology, keys, version } = this.#options
    const { channel, partition, record } = subscription
    const peer = topology.peerOf(keys.of(partition).head)
    if (peer === undefined || peer === subscription.peer) return
    const former = subscription.peer
    const moved = former !== undefined
    subscription.peer = peer
    former?.unsubscribe(channel).catch(() => undefined)
    const wake = (): void => this.#watchers.wake(partition, record)
    try {
      const before = moved ? undefined : await version(partition, record)
      await peer.subscribe(channel, wake)
      // every waiter left during the subscribe call
      if (!this.#subscriptions.has(channel)) return await peer.unsubscribe(channel)
      if (moved || (await version(partition, record)) !== before) wake()
    } catch {
      if (subscription.peer === peer) subscription.peer = undefined
    }
  }
}
