import { amountIn, charged, type LimitWindow, spanOf } from '../../domain/limit-window.ts'
import type { Claim, Commit, CommitResult, Guard, IndexEntry, LimitGuard, Write } from '../store.ts'

/**
 * A flight is a group of commits that one disk transaction makes durable. It is planned in memory: the state on disk,
 * overlaid with the changes of earlier passengers. So commits run one after the other (S04), and all guards of each are
 * checked before it changes anything (S03). Only the outcome reaches the disk, written once per key.
 *
 * Planning on a snapshot is safe. One flight is in the air at a time, and the disk transaction checks that no other
 * process wrote in between (lmdb.ts, `writeFlight`).
 */
export interface Flight {
  readonly before: StateBefore
  /** ms since 1970: commits with an earlier deadline are late (S08). */
  readonly time: number
  readonly records: Map<string, RecordState>
  readonly members: Map<string, MemberState>
  readonly windows: Map<string, WindowState>
  /** Indexes with a changed member. */
  readonly indexes: Set<string>
  readonly events: EventWrite[]
  /** The last number of each partition that received events. */
  readonly numbers: Map<string, number>
  /** Partitions that were changed. */
  readonly partitions: Set<string>
}

/** The state on disk before the flight. */
export interface StateBefore {
  /** Makes later reads see every landed flight. */
  refresh(): void
  /** The store's id: a restore creates another store (S19). */
  readonly epoch: string
  /** Revision and writer of a record; revision 0 and an empty writer when absent. */
  head(partition: string, type: string, id: string): RecordHead
  score(partition: string, index: string, member: string): number | undefined
  lastNumber(partition: string): number
  window(partition: string, limit: string): LimitWindow | undefined
  /** Entries with score <= `now`, oldest first. */
  due(partition: string, index: string, claim: Claim): IndexEntry[]
}

export interface RecordHead {
  readonly revision: number
  /** The commit that wrote it. */
  readonly commitId: string
}

export interface RecordState {
  readonly partition: string
  readonly type: string
  readonly id: string
  /** 0 when absent. */
  revision: number
  commitId: string
  /** The value to write; undefined for a deleted record. */
  value: Buffer | undefined
  changed: boolean
}

export interface MemberState {
  readonly partition: string
  readonly index: string
  readonly member: string
  /** Scores before and after the flight; undefined when not in the index. */
  readonly before: number | undefined
  after: number | undefined
}

/** The charges of a limit. */
export interface WindowState {
  readonly partition: string
  readonly limit: string
  /** Undefined without charges. */
  window: LimitWindow | undefined
  changed: boolean
}

export interface EventWrite {
  readonly partition: string
  readonly number: number
  readonly value: Buffer
}

/** A commit, encoded: one value for each put and each event, in order. */
export interface CommitTask {
  readonly partition: string
  readonly commit: Commit
  readonly bodies: readonly Buffer[]
  readonly events: readonly Buffer[]
  /** Length of all bodies and events, in code units. */
  readonly length: number
}

export function encodeCommit(partition: string, commit: Commit, length: number): CommitTask {
  const bodies: Buffer[] = []
  for (const write of commit.writes)
    if (write.op === 'put') bodies.push(Buffer.from(`${commit.commitId}\n${write.body}`))
  const events = commit.events.map((event) => Buffer.from(`${commit.commitId}\n${event}`))
  return { partition, commit, bodies, events, length }
}

export function createFlight(before: StateBefore, time: number): Flight {
  return {
    before,
    time,
    records: new Map(),
    members: new Map(),
    windows: new Map(),
    indexes: new Set(),
    events: [],
    numbers: new Map(),
    partitions: new Set(),
  }
}

export function planCommit(flight: Flight, task: CommitTask): CommitResult {
  const { partition, commit } = task
  if (flight.time > commit.deadline) return { ok: false, reason: 'late' }
  const failed = failedGuards(flight, partition, commit.guards)
  if (failed.length > 0) return { ok: false, reason: 'guard', failed }
  const numbers = appendEvents(flight, task)
  applyWrites(flight, task, numbers[0])
  if (commit.writes.length + commit.events.length > 0) flight.partitions.add(partition)
  return { ok: true, numbers }
}

/** Undefined when this flight changed the index; the claim must then take the next flight. */
export function planClaim(
  flight: Flight,
  partition: string,
  index: string,
  claim: Claim,
): IndexEntry[] | undefined {
  if (flight.indexes.has(indexName(partition, index))) return undefined
  const due = flight.before.due(partition, index, claim)
  for (const { member } of due) moveMember(flight, [partition, index, member], claim.now + claim.lease)
  if (due.length > 0) flight.partitions.add(partition)
  return due
}

function failedGuards(flight: Flight, partition: string, guards: readonly Guard[]): number[] {
  const failed: number[] = []
  for (const [position, guard] of guards.entries()) {
    if (!holds(flight, partition, guard)) failed.push(position)
  }
  return failed
}

function holds(flight: Flight, partition: string, guard: Guard): boolean {
  if ('epoch' in guard) return guard.epoch === flight.before.epoch
  if ('limit' in guard) return hasRoom(flight, partition, guard)
  const { revision, commitId } = recordState(flight, partition, guard.type, guard.id)
  return revision === guard.revision && (guard.commitId ?? commitId) === commitId
}

function hasRoom(flight: Flight, partition: string, guard: LimitGuard): boolean {
  const { window } = windowState(flight, partition, guard.limit)
  return amountIn(window, guard.windowMs, flight.time) <= guard.atMost - guard.amount
}

/**
 * Applies the writes. `first` is the number of the commit's first event. It is undefined without events; then no mark
 * is written (S17).
 */
function applyWrites(
  flight: Flight,
  { partition, commit, bodies }: CommitTask,
  first: number | undefined,
): void {
  let puts = 0
  for (const write of commit.writes) {
    if (write.op === 'index') moveMember(flight, [partition, write.index, write.member], write.to)
    else if (write.op === 'mark') {
      if (first !== undefined) moveMember(flight, [partition, write.index, commit.commitId], first)
    } else if (write.op === 'charge') {
      charge(flight, partition, asCharged(flight, partition, { commit, write }))
    } else {
      const body = write.op === 'put' ? bodies[puts++] : undefined
      changeRecord(recordState(flight, partition, write.type, write.id), body, commit.commitId)
    }
  }
}

type Charge = Write & { readonly op: 'charge' }

/**
 * Applies a charge. Only a commit that guards the limit knows its current window length. Other commits may be older
 * than the policy in force (an approval that ends, an old thread). So they never shorten a window.
 */
function asCharged(
  flight: Flight,
  partition: string,
  { commit, write }: { readonly commit: CommitTask['commit']; readonly write: Charge },
): Charge {
  const guards = commit.guards.some(
    (guard) => 'limit' in guard && guard.limit === write.limit && guard.windowMs === write.windowMs,
  )
  if (guards) return write
  const span = spanOf(windowState(flight, partition, write.limit).window)
  return { ...write, windowMs: Math.max(write.windowMs, span) }
}

function charge(flight: Flight, partition: string, write: Charge): void {
  const state = windowState(flight, partition, write.limit)
  state.window = charged(state.window, write, flight.time)
  state.changed = true
}

function changeRecord(record: RecordState, value: Buffer | undefined, commitId: string): void {
  record.revision = value === undefined ? 0 : record.revision + 1
  record.commitId = value === undefined ? '' : commitId
  record.value = value
  record.changed = true
}

function appendEvents(flight: Flight, task: CommitTask): number[] {
  if (task.events.length === 0) return []
  const { partition } = task
  let last = flight.numbers.get(partition) ?? flight.before.lastNumber(partition)
  const numbers = task.events.map((value) => {
    last += 1
    flight.events.push({ partition, number: last, value })
    return last
  })
  flight.numbers.set(partition, last)
  return numbers
}

function moveMember(
  flight: Flight,
  [partition, index, member]: readonly [string, string, string],
  to: number | undefined,
): void {
  const name = nameOf(partition, index, member)
  const after = to === 0 ? 0 : to
  const known = flight.members.get(name)
  if (known === undefined) {
    const before = flight.before.score(partition, index, member)
    flight.members.set(name, { partition, index, member, before, after })
  } else {
    known.after = after
  }
  flight.indexes.add(indexName(partition, index))
}

function recordState(flight: Flight, partition: string, type: string, id: string): RecordState {
  const name = nameOf(partition, type, id)
  const known = flight.records.get(name)
  if (known !== undefined) return known
  const head = flight.before.head(partition, type, id)
  const record: RecordState = { partition, type, id, ...head, value: undefined, changed: false }
  flight.records.set(name, record)
  return record
}

function windowState(flight: Flight, partition: string, limit: string): WindowState {
  const name = indexName(partition, limit)
  const known = flight.windows.get(name)
  if (known !== undefined) return known
  const state = { partition, limit, window: flight.before.window(partition, limit), changed: false }
  flight.windows.set(name, state)
  return state
}

/** Joins three names into one string, unambiguously. */
function nameOf(partition: string, kind: string, id: string): string {
  return `${partition.length},${kind.length},${partition}${kind}${id}`
}

/** Joins two names into one string, unambiguously. */
export function indexName(partition: string, name: string): string {
  return `${partition.length},${partition}${name}`
}
