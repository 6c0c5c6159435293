import { amountIn, charged, type LimitWindow, spanOf, TIMES_WHAT_IS_LEFT } from '../../domain/limit-window.ts'
import type { Claim, Commit, CommitResult, Guard, IndexEntry, LimitGuard, Write } from '../store.ts'

/**
 * A batch is a group of commits that one disk transaction makes durable. The batch is planned in memory, on the state
 * on disk plus the changes of earlier callers. Commits therefore run one after the other (S04), and all guards of a
 * commit are checked before it makes any change (S03). Only the final values are written to disk, once per key.
 *
 * Planning on a snapshot is safe. The store writes one batch at a time, and the disk transaction checks that no other
 * process wrote in between (lmdb.ts, `writeBatch`).
 */
export interface Batch {
  readonly before: StateBefore
  /** ms since 1970. Commits with an earlier deadline are late (S08). */
  readonly time: number
  readonly records: Map<string, RecordState>
  readonly members: Map<string, MemberState>
  readonly windows: Map<string, WindowState>
  readonly events: EventWrite[]
  /** Events whose disclosures are deleted. */
  readonly forgotten: Forgotten[]
  /** The numbers of the first event of partitions that were trimmed, before and after the batch. */
  readonly firsts: Map<string, FirstNumber>
  /** The last number of each partition that received events. */
  readonly numbers: Map<string, number>
  /** Partitions that were changed. */
  readonly partitions: Set<string>
}

/** The state on disk before the batch. */
export interface StateBefore {
  /** Refreshes the snapshot, so that later reads see every batch written so far. */
  refresh(): void
  /** The store's id. A restore creates a store with a different id (S19). */
  readonly epoch: string
  /** Revision and writer of a record. For a missing record, the revision is 0 and the writer is empty. */
  head(partition: string, type: string, id: string): RecordHead
  score(partition: string, index: string, member: string): number | undefined
  firstNumber(partition: string): number
  lastNumber(partition: string): number
  window(partition: string, limit: string): LimitWindow | undefined
  /** Entries with score <= `now`, oldest first. */
  due(partition: string, index: string, claim: Claim): IndexEntry[]
}

export interface RecordHead {
  readonly revision: number
  /** The commit that wrote the record. */
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
  /** Scores before and after the batch; undefined when the member is not in the index. */
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
  disclosures: Buffer | undefined
}

interface FirstNumber {
  readonly before: number
  readonly after: number
}

interface Forgotten {
  readonly partition: string
  readonly number: number
}

/** An encoded commit, with one value for each put and each event, in order. */
export interface CommitTask {
  readonly partition: string
  readonly commit: Commit
  readonly bodies: readonly Buffer[]
  readonly events: readonly Buffer[]
  /** Total length of all bodies, events and disclosures, in code units. */
  readonly length: number
}

export function encodeCommit(partition: string, commit: Commit, length: number): CommitTask {
  const bodies: Buffer[] = []
  for (const write of commit.writes) if (write.op === 'put') bodies.push(valueOf(commit, write.body))
  const events = commit.events.map((event) => valueOf(commit, event))
  return { partition, commit, bodies, events, length }
}

/** `<commit id>\n<body>`. Joined as text, each body would be copied once more. */
function valueOf({ commitId }: Commit, body: string): Buffer {
  const head = Buffer.byteLength(commitId)
  const value = Buffer.allocUnsafe(head + 1 + Buffer.byteLength(body))
  value.write(commitId)
  value[head] = LINE_END
  value.write(body, head + 1)
  return value
}
const LINE_END = 10

export function createBatch(before: StateBefore, time: number): Batch {
  return {
    before,
    time,
    records: new Map(),
    members: new Map(),
    windows: new Map(),
    events: [],
    forgotten: [],
    firsts: new Map(),
    numbers: new Map(),
    partitions: new Set(),
  }
}

export function planCommit(batch: Batch, task: CommitTask): CommitResult {
  const { partition, commit } = task
  if (batch.time > commit.deadline) return { ok: false, reason: 'late' }
  const failed = failedGuards(batch, partition, commit.guards)
  if (failed.length > 0) return { ok: false, reason: 'guard', failed }
  const numbers = appendEvents(batch, task)
  applyWrites(batch, task, numbers[0])
  if (commit.writes.length + commit.events.length > 0) batch.partitions.add(partition)
  return { ok: true, numbers }
}

/** Returns undefined when this batch changed the index. The claim must then wait for the next batch. */
export function planClaim(
  batch: Batch,
  partition: string,
  index: string,
  claim: Claim,
): IndexEntry[] | undefined {
  for (const member of batch.members.values())
    if (member.partition === partition && member.index === index) return undefined
  const due = batch.before.due(partition, index, claim)
  for (const { member } of due) moveMember(batch, partition, { index, member, to: claim.now + claim.lease })
  if (due.length > 0) batch.partitions.add(partition)
  return due
}

function failedGuards(batch: Batch, partition: string, guards: readonly Guard[]): number[] {
  const failed: number[] = []
  guards.forEach((guard, position) => {
    if (!holds(batch, partition, guard)) failed.push(position)
  })
  return failed
}

function holds(batch: Batch, partition: string, guard: Guard): boolean {
  if ('epoch' in guard) return guard.epoch === batch.before.epoch
  if ('limit' in guard) return hasRoom(batch, partition, guard)
  const { revision, commitId } = recordState(batch, partition, guard.type, guard.id)
  return revision === guard.revision && (guard.commitId ?? commitId) === commitId
}

function hasRoom(batch: Batch, partition: string, guard: LimitGuard): boolean {
  const held = (limit: string): number =>
    amountIn(windowState(batch, partition, limit).window, guard.windowMs, batch.time)
  const left = guard.atMost - guard.amount - held(guard.limit)
  if (left < 0 || guard.share === undefined) return left >= 0
  return held(guard.share) + guard.amount <= TIMES_WHAT_IS_LEFT * left
}

/**
 * Applies the writes. `first` is the number of the commit's first event. Without events, `first` is undefined and no
 * mark is written (S17).
 */
function applyWrites(
  batch: Batch,
  { partition, commit, bodies }: CommitTask,
  first: number | undefined,
): void {
  let puts = 0
  for (const write of commit.writes) {
    if (write.op === 'index') moveMember(batch, partition, write)
    else if (write.op === 'mark') {
      if (first !== undefined)
        moveMember(batch, partition, { index: write.index, member: commit.commitId, to: first })
    } else if (write.op === 'drop') {
      drop(batch, partition, write)
    } else if (write.op === 'forget') {
      forget(batch, partition, write.number)
    } else if (write.op === 'trim') {
      trim(batch, partition, write.before)
    } else if (write.op === 'charge') {
      charge(batch, partition, asCharged(batch, partition, { commit, write }))
    } else {
      const body = write.op === 'put' ? bodies[puts++] : undefined
      changeRecord(recordState(batch, partition, write.type, write.id), body, commit.commitId)
    }
  }
}

/** Deletes the disclosures of an event, which an earlier commit of this batch may have written. */
function forget(batch: Batch, partition: string, number: number): void {
  const own = batch.events.find((event) => event.partition === partition && event.number === number)
  if (own !== undefined) own.disclosures = undefined
  else if (number <= batch.before.lastNumber(partition)) batch.forgotten.push({ partition, number })
}

/** Removes entries of an index, also those that this batch moved (S23). */
function drop(
  batch: Batch,
  partition: string,
  { index, upTo }: { readonly index: string; readonly upTo: number },
): void {
  for (const { member } of batch.before.due(partition, index, {
    now: upTo,
    lease: 0,
    limit: Number.MAX_SAFE_INTEGER,
  }))
    if (!batch.members.has(nameOf(partition, index, member))) moveMember(batch, partition, { index, member })
  for (const known of batch.members.values())
    if (known.partition === partition && known.index === index && (known.after ?? Infinity) <= upTo)
      known.after = undefined
}

/** Deletes events, but never the last (S22). */
function trim(batch: Batch, partition: string, number: number): void {
  const before = batch.firsts.get(partition)?.before ?? batch.before.firstNumber(partition)
  const first = batch.firsts.get(partition)?.after ?? before
  const after = Math.min(number, lastNumber(batch, partition))
  if (after > first) batch.firsts.set(partition, { before, after })
}

const lastNumber = (batch: Batch, partition: string): number =>
  batch.numbers.get(partition) ?? batch.before.lastNumber(partition)

type Charge = Write & { readonly op: 'charge' }

/**
 * Applies a charge. Only a commit that guards the limit knows its current window length. Other commits may follow an
 * older policy (an approval that ends, an old thread). Other commits therefore never shorten a window.
 */
function asCharged(
  batch: Batch,
  partition: string,
  { commit, write }: { readonly commit: CommitTask['commit']; readonly write: Charge },
): Charge {
  const guards = commit.guards.some(
    (guard) => 'limit' in guard && guard.limit === write.limit && guard.windowMs === write.windowMs,
  )
  if (guards) return write
  const span = spanOf(windowState(batch, partition, write.limit).window)
  return { ...write, windowMs: Math.max(write.windowMs, span) }
}

function charge(batch: Batch, partition: string, write: Charge): void {
  const state = windowState(batch, partition, write.limit)
  state.window = charged(state.window, write, batch.time)
  state.changed = true
}

function changeRecord(record: RecordState, value: Buffer | undefined, commitId: string): void {
  record.revision = value === undefined ? 0 : record.revision + 1
  record.commitId = value === undefined ? '' : commitId
  record.value = value
  record.changed = true
}

function appendEvents(batch: Batch, task: CommitTask): number[] {
  if (task.events.length === 0) return []
  const { partition, commit } = task
  let last = lastNumber(batch, partition)
  const numbers = task.events.map((value, i) => {
    last += 1
    const text = commit.disclosures?.[i]
    const disclosures = text === undefined ? undefined : Buffer.from(text)
    batch.events.push({ partition, number: last, value, disclosures })
    return last
  })
  batch.numbers.set(partition, last)
  return numbers
}

function moveMember(
  batch: Batch,
  partition: string,
  {
    index,
    member,
    to,
  }: { readonly index: string; readonly member: string; readonly to?: number | undefined },
): void {
  const name = nameOf(partition, index, member)
  const after = to === 0 ? 0 : to
  const known = batch.members.get(name)
  if (known === undefined) {
    const before = batch.before.score(partition, index, member)
    batch.members.set(name, { partition, index, member, before, after })
  } else {
    known.after = after
  }
}

function recordState(batch: Batch, partition: string, type: string, id: string): RecordState {
  const name = nameOf(partition, type, id)
  const known = batch.records.get(name)
  if (known !== undefined) return known
  const head = batch.before.head(partition, type, id)
  const record: RecordState = { partition, type, id, ...head, value: undefined, changed: false }
  batch.records.set(name, record)
  return record
}

function windowState(batch: Batch, partition: string, limit: string): WindowState {
  const name = indexName(partition, limit)
  const known = batch.windows.get(name)
  if (known !== undefined) return known
  const state = { partition, limit, window: batch.before.window(partition, limit), changed: false }
  batch.windows.set(name, state)
  return state
}

/** Joins three names into one string, unambiguously. */
function nameOf(partition: string, kind: string, id: string): string {
  return `${partition.length},${kind.length},${partition}${kind}${id}`
}

/** Joins two names into one string, unambiguously. */
function indexName(partition: string, name: string): string {
  return `${partition.length},${partition}${name}`
}
