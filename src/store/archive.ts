import type { IndexEntry, StoredEvent, StoredRecord } from './store.ts'

/*
 * The second, small port of a store: everything that is in it, as a stream. `countersign store export`, `restore` and `check` stand on it
 * and on nothing else, so each of them works on every adapter, and a backup of one is brought back on another.
 *
 * What a partition yields, in this order, whatever the adapter: its head, then events by number, index entries by (index, score, member),
 * limits by name, records by (type, id). Text is ordered by code unit. So the same content is the same stream.
 */
export interface StoreArchive {
  /** The store's clock, ms since 1970. */
  now(): number
  /** The latest time that the store has seen, ms since 1970: a store that takes its place must not be before it (S12). */
  time(): Promise<number>
  /** Names of all partitions, in order. Who takes them before the first dump misses nothing that a dumped partition speaks of. */
  partitions(): Promise<string[]>
  /**
   * Everything in the partition at one moment. Memory does not grow with it.
   *
   * @throws StoreMoved at the end, when the partition was changed meanwhile: what was yielded is to be thrown away
   */
  dump(partition: string): AsyncIterable<DumpEntry>
  close(): Promise<void>
}

/** An empty store that is being filled: nobody can open it before `publish`. What was loaded can be read back by the methods of an archive. */
export interface StoreRestore extends StoreArchive {
  /** Takes an entry as it was dumped; a partition's events come in order. */
  load(partition: string, entry: StoredEntry): Promise<void>
  /** Ends the loading: heads, the time of the store, and another epoch than any before (S19). */
  settle(time: number): Promise<void>
  /** From now on it is an ordinary store. Closes it. */
  publish(): Promise<void>
  /** Leaves the place as empty as it was. Closes it. */
  abandon(): Promise<void>
}

export type DumpEntry = HeadEntry | StoredEntry | FaultEntry
export type StoredEntry = EventEntry | MemberEntry | LimitEntry | RecordEntry

export interface HeadEntry {
  readonly kind: 'head'
  /** Number of the last event that was given out, 0 when none was. */
  readonly last: number
}

export interface EventEntry extends StoredEvent {
  readonly kind: 'event'
}

export interface MemberEntry extends IndexEntry {
  readonly kind: 'index'
  readonly index: string
}

/** What was charged to a limit (src/domain/limit-window.ts). */
export interface LimitEntry {
  readonly kind: 'limit'
  readonly limit: string
  readonly width: number
  /** Number and amount, by number. */
  readonly buckets: readonly (readonly [number, number])[]
}

export interface RecordEntry extends StoredRecord {
  readonly kind: 'record'
  readonly type: string
  readonly id: string
}

/** Something that is there and can be no entry: only the adapter can see it. */
export interface FaultEntry extends Fault {
  readonly kind: 'fault'
}

export interface Fault {
  /** The law that it breaks, as numbered in store.ts. */
  readonly law: string
  /** What, in one sentence. */
  readonly what: string
}

/** Others write to the partition: it was never still for as long as reading it took. */
export class StoreMoved extends Error {
  override readonly name = 'StoreMoved'
}

/** A partition that changes all the while is read so often. */
const TRIES = 5

/** Reads a partition, and again when it was changed meanwhile. @throws StoreMoved when it was never still */
export async function untilStill<T>(read: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof StoreMoved) || tries === TRIES) throw error
    }
  }
}

/** The place of a restore is not empty, or that of an archive is. */
export class WrongPlace extends Error {
  override readonly name = 'WrongPlace'
}

/** The operator < on strings is code unit order. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
