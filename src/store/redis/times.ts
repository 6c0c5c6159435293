import { keySpace, requireFormat } from './keys.ts'
import { connectRedis, type RedisOptions } from './connect.ts'

/**
 * The difference, in ms, between a partition's latest time and its server's clock; negative when the partition is
 * behind.
 */
export interface Ahead {
  readonly partition: string
  readonly ms: number
  /** The latest time, ms since 1970; 0 when the partition has none. */
  readonly seen: number
}

/**
 * Returns the difference for each partition, in the order of `partitions`.
 *
 * @throws UnsafeRedis, StoreUnavailable; Error of one sentence for a partition of another format
 */
export async function timesOf(
  options: RedisOptions,
  partitions: readonly string[],
): Promise<readonly Ahead[]> {
  const { topology } = await connectRedis(options)
  const keys = keySpace(options.deployment)
  try {
    return await Promise.all(
      partitions.map(async (partition) => {
        const { head } = keys.of(partition)
        const peer = topology.peerOf(head)
        const fields = await peer?.connection()?.sendCommand(['HMGET', head, 't', 'v'])
        const [time = null, mark = null] = (fields ?? []) as (string | null)[]
        requireFormat(time, mark)
        const seen = Number(time ?? 0)
        return { partition, seen, ms: seen - performance.now() - (peer?.clockOffset() ?? Infinity) }
      }),
    )
  } finally {
    topology.close()
  }
}
