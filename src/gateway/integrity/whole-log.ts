import type { DumpEntry, EventEntry } from '../../store/archive.ts'
import { type StoredEvent, StoreUnavailable } from '../../store/store.ts'

/** A range of records that left the store: those after a number, and before the first that it keeps. */
interface EarlierRange {
  readonly after: number
  readonly before: number
  readonly limit: number
}

/** Reads the next records of a range, whose commit ids are empty. */
export type ReadEarlier = (partition: string, range: EarlierRange) => Promise<readonly StoredEvent[]>

export const noneEarlier: ReadEarlier = (partition, { before }) =>
  Promise.reject(new StoreUnavailable(`records 1 to ${before - 1} of \`${partition}\` are not in the store`))

const PAGE = 256

/** Adds to a dump the records that left the store (S22), each with the disclosures that the store still has. */
export async function* wholeLog(
  dump: AsyncIterable<DumpEntry>,
  read: (range: EarlierRange) => Promise<readonly StoredEvent[]>,
): AsyncGenerator<DumpEntry> {
  let before = 1
  let done = 0
  async function* upTo(last: number): AsyncGenerator<EventEntry> {
    while (done < last) {
      const limit = Math.min(PAGE, last - done)
      const events = (await read({ after: done, before, limit })).filter(({ number }) => number <= last)
      for (const event of events) yield { kind: 'event', ...event }
      // the rest is lost
      done = events.at(-1)?.number ?? last
    }
  }
  for await (const entry of dump) {
    if (entry.kind === 'head') before = entry.first
    if (entry.kind !== 'disclosures') {
      if (entry.kind !== 'head' && entry.kind !== 'fault') yield* upTo(before - 1)
      yield entry
      continue
    }
    yield* upTo(entry.number - 1)
    for await (const event of upTo(entry.number)) yield { ...event, disclosures: entry.text }
  }
}
