import { TokenBucket } from 'limiter'

/** `calls` per `withinMs`, refilled evenly. All calls may be made at the same time. */
export interface Rate {
  readonly calls: number
  readonly withinMs: number
}

interface Counted {
  readonly rate: Rate
  readonly bucket: TokenBucket
}

export type Rates = ReturnType<typeof createRates>

/** Limits the calls of each key. Each instance counts separately. */
export function createRates() {
  const counted = new Map<string, Counted>()
  return {
    /** Returns the milliseconds to wait when `key` exceeds `rate`; undefined otherwise. */
    take(key: string, rate: Rate): number | undefined {
      const known = counted.get(key)
      const { bucket } = known !== undefined && isSame(known.rate, rate) ? known : begin(rate, known)
      if (bucket !== known?.bucket) counted.set(key, { rate, bucket })
      return bucket.tryRemoveTokens(1) ? undefined : bucket.getWaitTime(1)
    },
  }
}

const isSame = (one: Rate, other: Rate): boolean =>
  one.calls === other.calls && one.withinMs === other.withinMs

/** Full at first. A change of the rate does not restore used calls. */
function begin({ calls, withinMs }: Rate, before: Counted | undefined): Counted {
  const bucket = new TokenBucket({ bucketSize: calls, tokensPerInterval: calls, interval: withinMs })
  bucket.content = before === undefined ? calls : Math.min(calls, before.bucket.content)
  return { rate: { calls, withinMs }, bucket }
}
