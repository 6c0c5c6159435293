import { INDEX } from '../core/indexes.ts'
import {
  type DumpEntry,
  type LiveContent,
  type Placed,
  type StoreArchive,
  untilStill,
} from '../../store/archive.ts'

/** The space of one kind of data of a partition. */
export interface KindSize {
  readonly partition: string
  /** `evidence`, `disclosures`, `record thread`, `index status` (without the part behind a slash), `limits`. */
  readonly kind: string
  readonly count: number
  /** Bytes of names and contents in UTF-8. A store needs more, for its pages and its own members. */
  readonly bytes: number
  /** Bytes of the last day. Only evidence has times. */
  readonly dayBytes?: number
  /** True when old evidence leaves the store as new evidence comes: it no longer grows. */
  readonly leaves?: true
  /** Threads that were opened in the last day, of `index threads`. */
  readonly dayCount?: number
}

export const DAY_MS = 24 * 3_600_000
const EVIDENCE = 'evidence'
const DISCLOSURES = 'disclosures'
const THREADS = `index ${INDEX.threads}`

/** Reads a store while it works. */
export interface LiveReader extends LiveContent {
  /** Called after each page. It rejects to end the measurement. */
  readonly rest?: () => Promise<void>
}

/** Reads the whole store once, and adds up each kind of data, the largest first. @throws StoreMoved */
export async function sizeOf(
  archive: Pick<StoreArchive, 'now' | 'partitions' | 'dump'>,
): Promise<readonly KindSize[]> {
  const sizes: KindSize[] = []
  const since = archive.now() - DAY_MS
  for (const partition of await archive.partitions())
    sizes.push(
      ...(await untilStill(async () => {
        const sums = new Sums(since)
        for await (const entry of archive.dump(partition)) sums.add({ partition, entry })
        return sums.sizes()
      })),
    )
  return sizes.sort(byBytes)
}

/** Reads a store once while it changes, and adds up each kind of data, the largest first. */
export async function sizeNow(reader: LiveReader): Promise<readonly KindSize[]> {
  const sums = new Sums(reader.now() - DAY_MS)
  for await (const page of reader.pages()) {
    for (const placed of page) sums.add(placed)
    await reader.rest?.()
  }
  return sums.sizes().sort(byBytes)
}

const byBytes = (a: KindSize, b: KindSize): number => b.bytes - a.bytes

interface Sum {
  readonly partition: string
  readonly kind: string
  count: number
  bytes: number
  dayBytes?: number
  leaves?: true
  dayCount?: number
}

class Sums {
  readonly #partitions = new Map<string, Map<string, Sum>>()
  /** The numbers of the first events. */
  readonly #numbers = new Map<string, number>()
  readonly #since: number

  /** @param since the start of the last day, ms since 1970 */
  constructor(since: number) {
    this.#since = since
  }

  add({ partition, entry }: Placed): void {
    const [kind, bytes] = measured(entry)
    if (kind === NOTHING) return
    const sum = this.#add(partition, kind, bytes)
    if (entry.kind === 'event') {
      sum.dayBytes = (sum.dayBytes ?? 0) + (timeOf(entry.body) >= this.#since ? bytes : 0)
      this.#numbers.set(partition, Math.min(entry.number, this.#numbers.get(partition) ?? Infinity))
      if (entry.disclosures !== undefined) this.#add(partition, DISCLOSURES, lengthOf(entry.disclosures))
    }
    if (kind === THREADS && 'score' in entry)
      sum.dayCount = (sum.dayCount ?? 0) + (entry.score >= this.#since ? 1 : 0)
  }

  sizes(): KindSize[] {
    for (const [partition, first] of this.#numbers)
      if (first > 1) this.#add(partition, EVIDENCE, 0, 0).leaves = true
    return [...this.#partitions.values()].flatMap((kinds) => [...kinds.values()])
  }

  #add(partition: string, kind: string, bytes: number, count = 1): Sum {
    const kinds = this.#partitions.get(partition) ?? new Map<string, Sum>()
    this.#partitions.set(partition, kinds)
    const sum = kinds.get(kind) ?? { partition, kind, count: 0, bytes: 0 }
    kinds.set(kind, sum)
    sum.count += count
    sum.bytes += bytes
    return sum
  }
}

/** Heads and faults take no space that counts. */
const NOTHING = ''
const NUMBER_BYTES = 8

function measured(entry: DumpEntry): readonly [kind: string, bytes: number] {
  switch (entry.kind) {
    case 'event':
      return [EVIDENCE, lengthOf(entry.body)]
    case 'disclosures':
      return [DISCLOSURES, lengthOf(entry.text)]
    case 'record':
      return [`record ${entry.type}`, lengthOf(entry.type, entry.id, entry.body)]
    case 'index':
      return [`index ${entry.index.split('/', 1)[0]}`, lengthOf(entry.index, entry.member) + NUMBER_BYTES]
    case 'limit':
      return ['limits', lengthOf(entry.limit) + entry.buckets.length * 2 * NUMBER_BYTES]
    case 'head':
    case 'fault':
      return [NOTHING, 0]
  }
}

const lengthOf = (...texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)

/** The time of a record of evidence, ms since 1970; NaN for a broken record. */
const timeOf = (body: string): number => Date.parse(/"at":"([^"]{24})"/.exec(body)?.[1] ?? '')
