import type { IndexEntry, StoredDisclosures, StoredEvent, StoredRecord } from './store.ts'

/*
 * The second, small port of a store. It yields the whole content as a stream. `countersign store export`, `restore` and
 * `check` use only this port. Each command therefore works with every adapter, and a backup from one adapter can be
 * restored into another.
 *
 * A partition yields, on every adapter, in this order:
 * - its head
 * - disclosures of deleted events by number (S22)
 * - events by number
 * - index entries by (index, score, member)
 * - limits by name
 * - records by (type, id)
 *
 * Text is ordered by code unit. Equal contents therefore yield equal streams.
 */
export interface StoreArchive {
  /** The store's clock, ms since 1970. */
  now(): number
  /**
   * The latest time that the store has seen, ms since 1970. The clock of a store that replaces this store must not be
   * earlier (S12).
   */
  time(): Promise<number>
  /**
   * Names of all partitions, in order. Read the names before the first dump, so that the names include every partition
   * that a dump mentions.
   */
  partitions(): Promise<string[]>
  /**
   * Yields the content of the partition at one point in time, in constant memory.
   *
   * @throws StoreMoved at the end, when the partition changed during the dump: discard all entries
   */
  dump(partition: string): AsyncIterable<DumpEntry>
  close(): Promise<void>
}

/** An entry, and its partition. */
export interface Placed {
  readonly partition: string
  readonly entry: DumpEntry
}

/** The content of a store that changes while it is read. */
export interface LiveContent {
  /** The store's clock, ms since 1970. */
  now(): number
  /**
   * Yields all content in constant memory, page by page and in any order. A page may be empty. An entry that changes
   * meanwhile may appear twice or not at all.
   */
  pages(): AsyncIterable<readonly Placed[]>
}

/** Entries of one page of `pagesOf`. */
const PAGE = 500

/** Turns the dumps of all partitions into pages. */
export async function* pagesOf(
  content: Pick<StoreArchive, 'partitions' | 'dump'>,
): AsyncGenerator<readonly Placed[]> {
  let page: Placed[] = []
  for (const partition of await content.partitions())
    for await (const entry of content.dump(partition)) {
      page.push({ partition, entry })
      if (page.length < PAGE) continue
      yield page
      page = []
    }
  yield page
}

/**
 * An empty store that a restore fills. No gateway can open it before `publish`. The archive methods read back the
 * loaded entries.
 */
export interface StoreRestore extends StoreArchive {
  /** Loads an entry of a dump. A partition's events must arrive in order. */
  load(partition: string, entry: StoredEntry): Promise<void>
  /** Completes the restore: writes the heads, the time of the store, and a new epoch (S19). */
  settle(time: number): Promise<void>
  /** Turns the place into an ordinary store, and closes the store. */
  publish(): Promise<void>
  /** Empties the place again, and closes the store. */
  abandon(): Promise<void>
}

export type DumpEntry = HeadEntry | StoredEntry | FaultEntry
export type StoredEntry = DisclosuresEntry | EventEntry | MemberEntry | LimitEntry | RecordEntry

export interface HeadEntry {
  readonly kind: 'head'
  /** Number of the first event; 1 when there are no events (S22). */
  readonly first: number
  /** Number of the last event; 0 when there are no events. */
  readonly last: number
}

/** Disclosures whose event was deleted (S22). */
export interface DisclosuresEntry extends StoredDisclosures {
  readonly kind: 'disclosures'
}

export interface EventEntry extends StoredEvent {
  readonly kind: 'event'
  readonly disclosures?: string
}

export interface MemberEntry extends IndexEntry {
  readonly kind: 'index'
  readonly index: string
}

/** The charges of a limit (src/domain/limit-window.ts). */
export interface LimitEntry {
  readonly kind: 'limit'
  readonly limit: string
  readonly width: number
  /** Pairs of bucket number and amount, ordered by number. */
  readonly buckets: readonly (readonly [number, number])[]
}

export interface RecordEntry extends StoredRecord {
  readonly kind: 'record'
  readonly type: string
  readonly id: string
}

/** Stored data that is not a valid entry. Only the adapter can detect such data. */
export interface FaultEntry extends Fault {
  readonly kind: 'fault'
}

export interface Fault {
  /** The violated law, as numbered in store.ts. */
  readonly law: string
  /** One sentence that describes the fault. */
  readonly what: string
}

/** The error for a partition that changed during every attempt to read it. */
export class StoreMoved extends Error {
  override readonly name = 'StoreMoved'
}

/** Attempts to read a partition that keeps changing. */
const TRIES = 5

/**
 * Reads a partition, and repeats the read after each change.
 *
 * @throws StoreMoved when the partition changed during every attempt
 */
export async function untilStill<T>(read: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await read()
    } catch (error) {
      if (!(error instanceof StoreMoved) || tries === TRIES) throw error
    }
  }
}

/** The error when a restore finds a store at its place, or when an archive finds none. */
export class WrongPlace extends Error {
  override readonly name = 'WrongPlace'
}

/** Compares two strings by code unit, in the order of the operator <. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
