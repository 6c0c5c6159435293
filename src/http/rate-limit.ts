import { TokenBucket } from 'limiter'

/** `calls` per `withinMs`, refilled evenly; all of them may come at once. */
export interface Rate {
  readonly calls: number
  readonly withinMs: number
}

export interface Rates {
  /** Milliseconds to wait when `key` is over `rate`, else undefined. */
  take(key: string, rate: Rate): number | undefined
}

interface Counted {
  readonly rate: Rate
  readonly bucket: TokenBucket
}

/** How many calls each key makes, counted by this gateway alone. */
export function createRates(): Rates {
  const counted = new Map<string, Counted>()
  return {
    take(key, rate) {
      const known = counted.get(key)
      const { bucket } = known !== undefined && isSame(known.rate, rate) ? known : begin(rate, known)
      if (bucket !== known?.bucket) counted.set(key, { rate, bucket })
      return bucket.tryRemoveTokens(1) ? undefined : bucket.getWaitTime(1)
    },
  }
}

const isSame = (one: Rate, other: Rate): boolean =>
  one.calls === other.calls && one.withinMs === other.withinMs

/** Full at first. A rate that was changed meanwhile gives nothing back that was used. */
function begin({ calls, withinMs }: Rate, before: Counted | undefined): Counted {
  const bucket = new TokenBucket({ bucketSize: calls, tokensPerInterval: calls, interval: withinMs })
  bucket.content = before === undefined ? calls : Math.min(calls, before.bucket.content)
  return { rate: { calls, withinMs }, bucket }
}
