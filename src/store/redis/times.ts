import { keysOf } from './keys.ts'
import { connectRedis, type RedisOptions } from './redis.ts'

/** The latest time that a partition has seen, and what the clock of its server says now; ms since 1970. @throws UnsafeRedis, StoreUnavailable */
export async function timesOf(
  options: RedisOptions,
  partition: string,
): Promise<{ readonly seen: number; readonly now: number }> {
  const { topology } = await connectRedis(options)
  try {
    const { head } = keysOf(partition)
    const peer = topology.peerOf(head)
    const seen = Number((await peer?.connection()?.sendCommand(['HGET', head, 't'])) ?? 0)
    return { seen, now: performance.now() + (peer?.clockOffset() ?? Infinity) }
  } finally {
    topology.close()
  }
}
