import { INDEX } from '../core/indexes.ts'
import { type DumpEntry, type StoreArchive, untilStill } from '../../store/archive.ts'

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
  /** Threads that were opened in the last day, of `index threads`. */
  readonly dayCount?: number
}

export const DAY_MS = 24 * 3_600_000
const EVIDENCE = 'evidence'
const DISCLOSURES = 'disclosures'
const THREADS = `index ${INDEX.threads}`

/** Reads a store to measure it. */
export interface SizeReader extends Pick<StoreArchive, 'now' | 'partitions' | 'dump'> {
  /** Called between steps of the work. */
  readonly rest?: () => Promise<void>
}

/** Entries of one step. */
const STEP = 500

/** Reads the whole store once, and adds up each kind of data, the largest first. @throws StoreMoved */
export async function sizeOf(archive: SizeReader): Promise<readonly KindSize[]> {
  const sizes: KindSize[] = []
  const since = archive.now() - DAY_MS
  for (const partition of await archive.partitions())
    sizes.push(...(await untilStill(() => sizesIn(archive, partition, since))))
  return sizes.sort((a, b) => b.bytes - a.bytes)
}

async function sizesIn(archive: SizeReader, partition: string, since: number): Promise<KindSize[]> {
  const sums: Sums = new Map()
  let [dayBytes, dayCount, entries] = [0, 0, 0]
  for await (const entry of archive.dump(partition)) {
    const [kind, bytes] = measured(entry)
    add(sums, kind, bytes)
    if (entry.kind === 'event' && entry.disclosures !== undefined)
      add(sums, DISCLOSURES, lengthOf(entry.disclosures))
    if (entry.kind === 'event' && timeOf(entry.body) >= since) dayBytes += bytes
    if (kind === THREADS && 'score' in entry && entry.score >= since) dayCount += 1
    if (++entries % STEP === 0) await archive.rest?.()
  }
  sums.delete(NOTHING)
  return [...sums].map(([kind, sum]) => ({
    partition,
    kind,
    ...sum,
    ...(kind === EVIDENCE ? { dayBytes } : {}),
    ...(kind === THREADS ? { dayCount } : {}),
  }))
}

type Sums = Map<string, { count: number; bytes: number }>

function add(sums: Sums, kind: string, bytes: number): void {
  const sum = sums.get(kind) ?? { count: 0, bytes: 0 }
  sums.set(kind, sum)
  sum.count += 1
  sum.bytes += bytes
}

/** Heads and faults take no space that counts. */
const NOTHING = ''
const NUMBER_BYTES = 8

function measured(entry: DumpEntry): readonly [kind: string, bytes: number] {
  switch (entry.kind) {
    case 'event':
      return [EVIDENCE, lengthOf(entry.body)]
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
