/**
 * The store port: one mini-transaction, nine reads and one lease. Adapters contain no business rules, and verbs in
 * gateway/ contain no store details.
 *
 * Laws (each has a test of the same id in test/store/conformance.ts, run on every adapter):
 *
 * S01 atomic: a commit applies all of its writes and events, or changes nothing.
 * S02 durable: when `commit` resolves with `ok: true`, its effects survive a crash at the stated `durability`.
 * S03 guards: the store checks all guards before any write. A commit with a failing guard changes nothing and names
 *   every guard that failed.
 * S04 isolation: a reader sees a whole commit or nothing. Partitions never see one another.
 * S05 order: `range` is ordered by score, then by member in code unit order. With `reverse` the order is the exact
 *   opposite. `count` is the number of entries.
 * S06 dense: events of a partition are numbered 1, 2, 3, ... without gaps, in commit order. The events of one commit
 *   are consecutive.
 * S07 lease: `claimDue` gives an item to one claimant at a time. The item is due again when its lease ends. Removing
 *   the entry ends the lease.
 * S08 fence: a commit that reaches the store after its deadline changes nothing (`late`).
 * S09 deadline: by its deadline, every call is done, refused, or failed with `StoreUnavailable` or
 *   `StoreIndeterminate`. A call without a deadline has `STORE_LIMITS.callMs`.
 * S10 revision: a record's revision starts at 1, increases by 1 with each put, and starts again after a delete.
 * S11 watch: `watch` resolves after a later commit in the partition, or when its signal aborts. With `record`, only a
 *   commit that wrote the record counts. A commit may be missed, so callers re-read.
 * S12 time: `now()` is the store's clock in ms since 1970. The clock never runs backwards, even across a restart.
 * S13 closed: after `close` every call fails with `StoreUnavailable`, and watchers wake. Only `now` and a second
 *   `close` still work; `health` reports not ready.
 * S14 identity: a record and an event carry the id of the commit that wrote them. A guard with a commit id is satisfied
 *   only by that commit's write, because a store that lost a revision may reuse its number.
 * S15 member: a member is in an index at most once. Adding a member again moves it, and removing deletes it, whatever
 *   its score was.
 * S16 limits: an argument outside `STORE_LIMITS` is refused with a TypeError or RangeError. Such a call changes nothing
 *   and affects no other call.
 * S17 mark: a mark indexes the commit's first event by its number, in the same commit. A commit without events has no
 *   mark.
 * S18 limit: a commit with a limit guard applies only when the charges in the window plus the guard's amount are at
 *   most `atMost`. A share of the limit is at most three times the rest. The window ends with the commit. Commits
 *   that guard and charge a limit therefore never exceed it together. A window counts at least its charges. An older
 *   charge counts for at most a 24th of the window's length longer. A charge is unconditional, and shortens the limit's
 *   window only in a commit that guards it. `charged` returns the sum that a guard would compare.
 * S20 room: `shortOfRoom` reports a reason before `commit` refuses writes because the store is full. Between the two
 *   points, commits still succeed.
 * S21 disclosures: an event's disclosures are written in its commit. `forget` deletes them, and leaves the event
 *   unchanged. Disclosures that are read after their event are missing only if they were deleted.
 * S22 trim: `trim` deletes the events before a number, but never the last event of the partition. Numbers stay as they
 *   are, and disclosures stay. `firstEvent` returns the number of the first event that is left.
 * S23 drop: `drop` removes the entries of an index with a score up to a bound. It sees the earlier writes of its
 *   commit, and every commit before it. An entry that moved above the bound stays.
 * S19 epoch: the epoch of a partition changes whenever the store may have lost an acknowledged commit. This happens
 *   when a replica takes over, when a server that others may have replaced returns, and with every restore. A commit
 *   with an epoch guard applies only in that epoch.
 */
export interface Store {
  readonly durability: Durability
  /** The store's clock, ms since 1970 (S12). */
  now(): number
  get(partition: string, type: string, id: string): Promise<StoredRecord | undefined>
  range(partition: string, index: string, bounds: RangeBounds): Promise<IndexEntry[]>
  /** The number of entries in the index. */
  count(partition: string, index: string): Promise<number>
  /** The sum of the limit's charges in the window of `windowMs` that ends now (S18). */
  charged(partition: string, limit: string, windowMs: number): Promise<number>
  /** Events with number > `after`, at most `limit`, in order. */
  events(partition: string, after: number, limit: number): Promise<StoredEvent[]>
  /** The number of the first event; 1 in a partition that was never trimmed (S22). */
  firstEvent(partition: string): Promise<number>
  /** The disclosures of events with `after` < number <= `last`, in order (S21). */
  disclosures(partition: string, after: number, last: number): Promise<StoredDisclosures[]>
  /** Opaque text (S19). Promises made in another epoch are void. */
  epoch(partition: string): Promise<string>
  /**
   * Resolves after the next commit to `partition`, or when `signal` aborts (S11). With `record`, only a commit that
   * wrote the record counts, so that other commits do not wake a thousand waiting callers.
   */
  watch(partition: string, signal: AbortSignal, record?: RecordName): Promise<void>
  commit(partition: string, commit: Commit): Promise<CommitResult>
  /**
   * Returns entries with score <= `now`, oldest first, and atomically moves each to score `now + lease` (S07). Each
   * returned entry has its earlier score, which is its due time. Its lease ends at `now + lease`.
   *
   * @throws StoreUnavailable also when the store's clock is so far behind the partition that a claimant could not
   * commit its result
   */
  claimDue(partition: string, index: string, claim: Claim): Promise<IndexEntry[]>
  health(): Promise<StoreHealth>
  /**
   * S20. The reason, in one sentence, while the remaining room is reserved for work that has begun. The caller must
   * then refuse new work. Undefined otherwise. Costs nothing.
   */
  shortOfRoom(): string | undefined
  close(): Promise<void>
}

/**
 * Arguments that every adapter accepts (S16). Lengths are in UTF-16 code units, as `string.length` counts them. Names
 * and ids may hold any characters. Bodies, events and commit ids must be well-formed Unicode (no lone surrogates);
 * otherwise their bytes would change.
 */
export const STORE_LIMITS = {
  partitionLength: 64,
  /** Length of a record type or an index name. */
  nameLength: 224,
  /** Length of a record id or an index member. */
  idLength: 320,
  /** Length of a limit's window: 31 days. */
  windowMs: 31 * 24 * 3_600_000,
  /** Length of a commit id: one line, 1 to 128 characters. */
  commitIdLength: 128,
  /** Length of all bodies and events of one commit together. */
  commitLength: 16 * 1024 * 1024,
  /** Number of guards, writes and events of one commit together. */
  commitParts: 10_000,
  /** Time limit of a call that has no deadline of its own. */
  callMs: 5_000,
} as const

/**
 * `fsync`: on disk before the answer. `replicated`: on enough replicas. `async`: may lose the last seconds in a power
 * cut.
 */
export type Durability = 'fsync' | 'replicated' | 'async'

export interface StoredRecord {
  readonly body: string
  readonly revision: number
  readonly commitId: string
}

export interface IndexEntry {
  readonly score: number
  readonly member: string
}

export interface StoredEvent {
  readonly number: number
  readonly body: string
  readonly commitId: string
}

/** The text that is kept beside an event, and may be deleted before it (S21). */
export interface StoredDisclosures {
  /** The number of the event. */
  readonly number: number
  readonly text: string
}

export interface RecordName {
  readonly type: string
  readonly id: string
}

/** Bounds of a range. Scores are inclusive. `after` continues after an entry, in the direction of the range. */
export interface RangeBounds {
  readonly min?: number
  readonly max?: number
  readonly after?: IndexEntry
  readonly reverse?: boolean
  readonly limit: number
}

export interface Commit {
  /** Unique per attempt. */
  readonly commitId: string
  /** By the store's clock, ms since 1970 (S08). */
  readonly deadline: number
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
  /** Evidence, in order: the exact text that is exported and hashed. */
  readonly events: readonly string[]
  /** Texts kept beside the events (S21). Each position belongs to the event at the same position. */
  readonly disclosures?: readonly (string | undefined)[]
}

export type Guard = RecordGuard | LimitGuard | EpochGuard

/** Requires that the partition still has this epoch (S19). */
export interface EpochGuard {
  readonly epoch: string
}

/** Requires that the record has this `revision`; 0 means that the record must be absent. */
export interface RecordGuard {
  readonly type: string
  readonly id: string
  readonly revision: number
  /** The commit that must have written this revision (S14). */
  readonly commitId?: string
}

/**
 * Requires room for a further `amount` (S18). Amounts are integers, 0 or more. `share` is another limit with the same
 * window. Its charges plus the amount are also at most three times the room that is then left.
 */
export interface LimitGuard {
  readonly limit: string
  readonly windowMs: number
  readonly amount: number
  readonly atMost: number
  readonly share?: string
}

export type Write =
  | { readonly op: 'put'; readonly type: string; readonly id: string; readonly body: string }
  | { readonly op: 'delete'; readonly type: string; readonly id: string }
  /** Moves the member to score `to` from any earlier score (S15); removes the member when `to` is absent. */
  | { readonly op: 'index'; readonly index: string; readonly member: string; readonly to?: number }
  /** Removes the entries of an index with a score up to `upTo`, as they are when the commit applies (S23). */
  | { readonly op: 'drop'; readonly index: string; readonly upTo: number }
  /** Adds an entry whose score is the number of the commit's first event and whose member is the commit's id (S17). */
  | { readonly op: 'mark'; readonly index: string }
  /** Deletes the disclosures of the event with this number, if any (S21). */
  | { readonly op: 'forget'; readonly number: number }
  /** Deletes the events with a lower number than `before`, except the last event (S22). */
  | { readonly op: 'trim'; readonly before: number }
  /** Adds `amount` to the limit at the time `at`, unconditionally. A negative amount reverses that charge (S18). */
  | {
      readonly op: 'charge'
      readonly limit: string
      readonly windowMs: number
      readonly at: number
      readonly amount: number
    }

export type CommitResult =
  | { readonly ok: true; readonly numbers: readonly number[] }
  /** `failed` are positions in `guards`, ascending (S03). */
  | { readonly ok: false; readonly reason: 'guard'; readonly failed: readonly number[] }
  /** The deadline had passed, or the store's clock is behind the last write of the partition (S08). */
  | { readonly ok: false; readonly reason: 'late' }

export interface Claim {
  readonly now: number
  readonly lease: number
  readonly limit: number
}

export interface StoreHealth {
  readonly ready: boolean
  /** One sentence for the operator when not ready. */
  readonly reason?: string
  /** Bytes that can still be written before the store refuses writes because it is full. Absent when unknown. */
  readonly roomBytes?: number
}

/** The error when the call was definitely not executed. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/** The error when records that left the store cannot be read from their tiles. Callers see its message. */
export class TilesUnavailable extends StoreUnavailable {}

/** The error when the commit may or may not have been executed. The caller must answer "unknown", never success. */
export class StoreIndeterminate extends Error {
  override readonly name = 'StoreIndeterminate'
}

/** The store, with some methods replaced. */
export const overriding = (store: Store, methods: Partial<Store>): Store => ({
  durability: store.durability,
  now: () => store.now(),
  get: (...asked) => store.get(...asked),
  range: (...asked) => store.range(...asked),
  count: (...asked) => store.count(...asked),
  charged: (...asked) => store.charged(...asked),
  events: (...asked) => store.events(...asked),
  firstEvent: (...asked) => store.firstEvent(...asked),
  disclosures: (...asked) => store.disclosures(...asked),
  epoch: (...asked) => store.epoch(...asked),
  watch: (...asked) => store.watch(...asked),
  commit: (...asked) => store.commit(...asked),
  claimDue: (...asked) => store.claimDue(...asked),
  health: () => store.health(),
  shortOfRoom: () => store.shortOfRoom(),
  close: () => store.close(),
  ...methods,
})
