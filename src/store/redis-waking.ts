import { keysOf } from './redis-keys.ts'
import type { Topology } from './redis-topology.ts'
import type { RecordName } from './store.ts'
import { createWatchers } from './watchers.ts'

/*
 * Waking across instances (S11): each commit publishes to a channel of its partition and one of each record that it wrote; an instance
 * listens to what somebody here waits for. Sharded channels, so that in a cluster only the node of the partition carries them. Messages
 * can be lost (a new connection, a failover): callers read again now and then, and after each new subscription we compare.
 */
export interface Waking {
  wait(partition: string, signal: AbortSignal, record?: RecordName): Promise<void>
  /** A commit of this process: its own waiters need no message. */
  landed(partition: string, records: readonly RecordName[]): void
  close(): void
}

export interface WakingOptions {
  readonly topology: Topology
  /** Something that changes with each commit to what is waited for. */
  readonly version: (partition: string, record: RecordName | undefined) => Promise<string>
}

interface Subscription {
  waiting: number
  lingering: NodeJS.Timeout | undefined
}

/** Who waits in rounds subscribes once. */
const LINGER_MS = 3_000

export function createWaking({ topology, version }: WakingOptions): Waking {
  const watchers = createWatchers()
  const subscriptions = new Map<string, Subscription>()

  const subscribe = async (
    channel: string,
    partition: string,
    record: RecordName | undefined,
  ): Promise<void> => {
    const before = version(partition, record)
    before.catch(() => undefined)
    await topology.peerOf(keysOf(partition).head)?.subscribe(channel, () => watchers.wake(partition, record))
    if ((await version(partition, record)) !== (await before)) watchers.wake(partition, record)
  }

  const join = (channel: string, partition: string, record: RecordName | undefined): void => {
    const known = subscriptions.get(channel)
    if (known !== undefined) {
      clearTimeout(known.lingering)
      known.waiting += 1
      return
    }
    subscriptions.set(channel, { waiting: 1, lingering: undefined })
    subscribe(channel, partition, record).catch(() => subscriptions.delete(channel))
  }

  const leave = (channel: string, partition: string): void => {
    const subscription = subscriptions.get(channel)
    if (subscription === undefined) return
    subscription.waiting -= 1
    if (subscription.waiting > 0) return
    subscription.lingering = setTimeout(() => {
      subscriptions.delete(channel)
      topology
        .peerOf(keysOf(partition).head)
        ?.unsubscribe(channel)
        .catch(() => undefined)
    }, LINGER_MS)
    subscription.lingering.unref()
  }

  return {
    async wait(partition, signal, record) {
      if (signal.aborted) return
      const keys = keysOf(partition)
      const channel = record === undefined ? keys.channel : keys.recordChannel(record.type, record.id)
      const woken = watchers.wait(partition, signal, record)
      join(channel, partition, record)
      await woken
      leave(channel, partition)
    },
    landed(partition, records) {
      watchers.wake(partition)
      for (const record of records) watchers.wake(partition, record)
    },
    close() {
      watchers.wakeAll()
      for (const { lingering } of subscriptions.values()) clearTimeout(lingering)
      subscriptions.clear()
    },
  }
}
