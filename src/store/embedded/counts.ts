import { type Flight, indexName } from './batch.ts'

/** How many entries indexes hold. LMDB counts by walking over all of them, while nothing else runs: a million take an eighth of a second. */
export interface Counts {
  of(partition: string, index: string): number
  /** @param flights that have landed, this one included */
  landed(flight: Pick<Flight, 'indexes' | 'members'>, flights: number): void
}

export interface CountSources {
  /** Walks over all of them. */
  readonly entries: (partition: string, index: string) => number
  /** The last flight that such a walk sees now: perhaps one that is on disk and has not landed yet. */
  readonly flights: () => number
}

interface Known {
  count: number
  /** The flights that are in it. */
  readonly asOf: number
}

/** Names that are remembered; with more of them all are counted anew. */
const MOST_KNOWN = 100_000

/** Counts an index when it is first asked for, and then keeps up with what lands. */
export function createCounts({ entries, flights }: CountSources, most = MOST_KNOWN): Counts {
  const known = new Map<string, Known>()
  return {
    of(partition, index) {
      const name = indexName(partition, index)
      const there = known.get(name)
      if (there !== undefined) return there.count
      if (known.size >= most) known.clear()
      const found = { count: entries(partition, index), asOf: flights() }
      known.set(name, found)
      return found.count
    },
    landed({ indexes, members }, now) {
      if (!hasAny(known, indexes)) return
      for (const { partition, index, before, after } of members.values()) {
        const there = known.get(indexName(partition, index))
        if (there !== undefined && now > there.asOf)
          there.count += Number(after !== undefined) - Number(before !== undefined)
      }
    },
  }
}

function hasAny(known: ReadonlyMap<string, unknown>, names: ReadonlySet<string>): boolean {
  for (const name of names) if (known.has(name)) return true
  return false
}
