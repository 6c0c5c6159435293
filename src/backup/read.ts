import { createHash } from 'node:crypto'
import { type Line, linesOf, LongLine } from '../system/lines.ts'
import { createLawCheck, type LawCheck } from '../store/archive-laws.ts'
import { compareText, type Fault, type StoredEntry } from '../store/archive.ts'
import {
  checkHeader,
  countEntry,
  DamagedBackup,
  footerLine,
  LONGEST_LINE_BYTES,
  newTotals,
  readLine,
  type Totals,
} from './format.ts'

/** The items of a backup, in its order. */
export type Item =
  | { readonly item: 'entry'; readonly partition: string; readonly entry: StoredEntry }
  /** Yielded once, at the end, and only when every earlier byte is intact. */
  | {
      readonly item: 'end'
      readonly time: number
      readonly totals: readonly Totals[]
      readonly footer: string
    }

/**
 * Reads a backup. Items before `end` may come from a damaged file; use them only after `end`.
 *
 * @throws DamagedBackup that names the line
 */
export async function* readBackup(source: AsyncIterable<Uint8Array>): AsyncGenerator<Item> {
  const reader = new BackupReader()
  try {
    for await (const line of linesOf(source, LONGEST_LINE_BYTES)) {
      const item = reader.take(line)
      if (item !== undefined) yield item
    }
  } catch (error) {
    throw error instanceof LongLine ? reader.longLine() : error
  }
  yield reader.end()
}

class BackupReader {
  readonly #hash = createHash('sha256')
  readonly #totals: Totals[] = []
  #laws: LawCheck = createLawCheck()
  #lines = 0
  #time: number | undefined
  #footer: string | undefined

  take(line: Line): Item | undefined {
    this.#lines += 1
    try {
      return this.#take(line)
    } catch (error) {
      if (!(error instanceof DamagedBackup)) throw error
      throw new DamagedBackup(`line ${this.#lines}: ${error.message}`)
    }
  }

  longLine(): DamagedBackup {
    return new DamagedBackup(`line ${this.#lines + 1}: it is longer than any line of a backup`)
  }

  end(): Item {
    if (this.#time === undefined || this.#footer === undefined)
      throw new DamagedBackup(`the file was cut off after line ${this.#lines}`)
    return { item: 'end', time: this.#time, totals: this.#totals, footer: this.#footer }
  }

  #take({ bytes, ended }: Line): Item | undefined {
    if (this.#footer !== undefined) throw new DamagedBackup('there is data after the end')
    if (!ended) throw new DamagedBackup('the file was cut off here')
    const text = bytes.toString('utf8')
    if (this.#lines === 1) return this.#header(text, bytes)
    const read = readLine(text)
    if (read.line === 'footer') return this.#end(text)
    if (this.#time !== undefined) throw new DamagedBackup('there is data in place of the end')
    this.#hash.update(bytes).update('\n')
    if (read.line === 'entry') return this.#entry(read.entry)
    this.#finishPartition()
    if (read.line === 'partition') this.#startPartition(read.partition)
    else this.#time = read.time
    return undefined
  }

  #header(text: string, bytes: Buffer): undefined {
    checkHeader(text)
    this.#hash.update(bytes).update('\n')
  }

  #startPartition(partition: string): void {
    const before = this.#totals.at(-1)
    if (before !== undefined && compareText(before.partition, partition) >= 0)
      throw new DamagedBackup('a partition is out of order, or appears twice')
    this.#totals.push(newTotals(partition))
    this.#laws = createLawCheck()
  }

  #entry(entry: StoredEntry): Item {
    const totals = this.#totals.at(-1)
    if (totals === undefined) throw new DamagedBackup('an entry is outside of a partition')
    refuse(this.#laws.take(entry))
    countEntry(totals, entry)
    return { item: 'entry', partition: totals.partition, entry }
  }

  /** Ends a partition. The file contains no head, so the head is derived from the events. */
  #finishPartition(): void {
    const { last, events } = this.#totals.at(-1) ?? { last: 0, events: 0 }
    const head = { kind: 'head', first: Math.max(1, last - events + 1), last } as const
    refuse([...this.#laws.take(head), ...this.#laws.end()])
  }

  #end(text: string): undefined {
    if (this.#time === undefined) throw new DamagedBackup('the end is too early')
    const expected = footerLine(this.#totals, this.#hash.digest('hex'))
    if (text !== expected)
      throw new DamagedBackup('the earlier lines do not match the end: the file was altered')
    this.#footer = text
  }
}

function refuse(faults: readonly Fault[]): void {
  if (faults[0] !== undefined) throw new DamagedBackup(`it breaks law ${faults[0].law}: ${faults[0].what}`)
}
