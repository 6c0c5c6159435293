import { createHash, type Hash } from 'node:crypto'
import { createLawCheck } from '../store/archive-laws.ts'
import { type StoredEntry, type StoreArchive, untilStill } from '../store/archive.ts'
import {
  countEntry,
  entryLine,
  footerLine,
  HEADER,
  LEFT_OUT,
  newTotals,
  partitionLine,
  timeLine,
  type Totals,
} from './format.ts'

/** The target of a backup. */
export interface Sink {
  write(text: string): Promise<void>
  /** Position of the next byte. */
  position(): number
  /** Truncates to `position`. */
  rewind(position: number): Promise<void>
}

export interface Written {
  readonly totals: readonly Totals[]
  /** The last line, which covers all others. */
  readonly footer: string
}

/** The error for a store that violates its own laws, so that its content may not be restorable. */
export class UnsoundStore extends Error {
  override readonly name = 'UnsoundStore'
}

const CHUNK_UNITS = 64 * 1024

/**
 * Writes the whole store but `LEFT_OUT`, one partition after another. Each partition is written in its state at one
 * point in time. The times of these states may differ, because partitions are independent of one another.
 *
 * @throws StoreMoved when a partition kept changing, UnsoundStore when the store violates a law
 */
export const writeBackup = (archive: StoreArchive, sink: Sink): Promise<Written> =>
  writeStore(archive, sink, (entry) => entry.kind !== 'record' || !LEFT_OUT.has(entry.type))

async function writeStore(archive: StoreArchive, sink: Sink, isWanted: IsWanted): Promise<Written> {
  const out = new HashedLines(sink)
  await out.line(HEADER)
  const totals: Totals[] = []
  for (const partition of await archive.partitions()) {
    const found = await writePartition(archive, out, { partition, isWanted })
    if (found !== undefined) totals.push(found)
  }
  await out.line(timeLine(totals.length === 0 ? 0 : await archive.time()))
  const footer = footerLine(totals, await out.digest())
  await sink.write(`${footer}\n`)
  return { totals, footer }
}

type IsWanted = (entry: StoredEntry) => boolean

/** Reads all of a restored store, discards the content, and returns the footer of its backup. */
export async function footerOf(archive: StoreArchive, signal?: AbortSignal): Promise<Written> {
  const nowhere: Sink = {
    write: async () => signal?.throwIfAborted(),
    position: () => 0,
    rewind: () => Promise.resolve(),
  }
  return writeStore(archive, nowhere, () => true)
}

interface Asked {
  readonly partition: string
  readonly isWanted: IsWanted
}

/** Undefined for an empty partition. */
async function writePartition(
  archive: StoreArchive,
  out: HashedLines,
  asked: Asked,
): Promise<Totals | undefined> {
  const mark = await out.mark()
  return untilStill(async () => {
    await out.backTo(mark)
    return writeOnce(archive, out, asked)
  })
}

async function writeOnce(
  archive: StoreArchive,
  out: HashedLines,
  { partition, isWanted }: Asked,
): Promise<Totals | undefined> {
  const totals = newTotals(partition)
  const laws = createLawCheck()
  // Faults of a partition that changed may be false, so they count only once the dump has succeeded.
  const faults: string[] = []
  let empty = true
  for await (const entry of archive.dump(partition)) {
    for (const { law, what } of laws.take(entry)) if (faults.length === 0) faults.push(`${law}: ${what}`)
    if (entry.kind === 'head' || entry.kind === 'fault' || !isWanted(entry)) continue
    if (empty) await out.line(partitionLine(partition))
    empty = false
    countEntry(totals, entry)
    await out.line(entryLine(entry))
  }
  for (const { law, what } of laws.end()) faults.push(`${law}: ${what}`)
  if (faults[0] !== undefined) throw new UnsoundStore(`partition \`${partition}\` breaks law ${faults[0]}`)
  return empty ? undefined : totals
}

interface Mark {
  readonly position: number
  readonly hash: Hash
}

/** Buffers lines for a sink in large pieces, and hashes them. */
class HashedLines {
  readonly #sink: Sink
  #hash = createHash('sha256')
  #waiting = ''

  constructor(sink: Sink) {
    this.#sink = sink
  }

  async line(text: string): Promise<void> {
    this.#waiting += `${text}\n`
    if (this.#waiting.length >= CHUNK_UNITS) await this.#flush()
  }

  async digest(): Promise<string> {
    await this.#flush()
    return this.#hash.copy().digest('hex')
  }

  async mark(): Promise<Mark> {
    await this.#flush()
    return { position: this.#sink.position(), hash: this.#hash.copy() }
  }

  async backTo({ position, hash }: Mark): Promise<void> {
    this.#waiting = ''
    this.#hash = hash.copy()
    await this.#sink.rewind(position)
  }

  async #flush(): Promise<void> {
    const text = this.#waiting
    this.#waiting = ''
    if (text === '') return
    this.#hash.update(text)
    await this.#sink.write(text)
  }
}
