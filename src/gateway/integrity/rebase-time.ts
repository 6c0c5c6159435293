import { ADMIN, SYSTEM } from '../../domain/evidence.ts'
import type { DumpEntry, StoreArchive } from '../../store/archive.ts'
import type { Commit, Guard, Store, Write } from '../../store/store.ts'
import { encodeEvidence, isoTime, record } from '../core/event-record.ts'

/*
 * Brings back the times of a stopped store, whose clock was ahead for a while. Times in that while move back as much;
 * earlier times stay. Evidence keeps its times: a record in each log names both times.
 */

export interface Span {
  /** The latest time in the store, ms since 1970. */
  readonly from: number
  /** The time at which the store continues, ms since 1970. */
  readonly to: number
}

/** Charges of limits that lie in the future. They can move only once the time is back. */
export interface FutureCharges {
  readonly partition: string
  readonly limit: string
  readonly width: number
  readonly buckets: readonly (readonly [number, number])[]
}

/** Maximum number of writes in one commit. */
const MOST_WRITES = 1_000
const HOUR_MS = 3_600_000
/** Scores below are counts and numbers, not times. */
const FIRST_TIME = 1e12

/** A time in the new order. All later times move by as much, so the distances between them stay. */
const moved = ({ from, to }: Span, at: number): number => (at <= to ? at : at - (from - to))

/** Moves the times of all records and indexes, and records that in each log. */
export async function rebaseRecords(
  store: Store,
  archive: StoreArchive,
  { span, commitId }: { readonly span: Span; readonly commitId: () => string },
): Promise<readonly FutureCharges[]> {
  const charges: FutureCharges[] = []
  for (const partition of await archive.partitions()) {
    const commit = (part: Pick<Commit, 'guards' | 'writes' | 'events'>): Promise<void> =>
      landed(store, partition, { ...part, commitId: commitId(), deadline: span.from + HOUR_MS })
    let guards: Guard[] = []
    let writes: Write[] = []
    let events = [recordOf(partition, span)]
    for await (const entry of archive.dump(partition)) {
      const { guard, write, charge } = changeOf(entry, span)
      if (charge !== undefined) charges.push({ partition, ...charge })
      if (guard !== undefined) guards.push(guard)
      if (write !== undefined) writes.push(write)
      if (writes.length < MOST_WRITES) continue
      await commit({ guards, writes, events })
      ;[guards, writes, events] = [[], [], []]
    }
    if (writes.length + events.length > 0) await commit({ guards, writes, events })
  }
  return charges
}

async function landed(store: Store, partition: string, commit: Commit): Promise<void> {
  const result = await store.commit(partition, commit)
  if (!result.ok) throw new Error(`partition \`${partition}\` changed meanwhile: stop every gateway first`)
}

const recordOf = (tenant: string, { from, to }: Span): string =>
  encodeEvidence(
    record(
      from,
      ADMIN,
      { tenant },
      {
        type: tenant === SYSTEM ? 'clock.rebased' : 'time.rebased',
        details: { from: isoTime(from), to: isoTime(to) },
      },
    ),
  )

interface Change {
  readonly guard?: Guard
  readonly write?: Write
  readonly charge?: Omit<FutureCharges, 'partition'>
}

function changeOf(entry: DumpEntry, span: Span): Change {
  if (entry.kind === 'index') {
    const { index, member, score } = entry
    const to = score < FIRST_TIME ? score : moved(span, score)
    return to === score ? {} : { write: { op: 'index', index, member, to } }
  }
  if (entry.kind === 'limit') {
    const { limit, width } = entry
    const buckets = entry.buckets.filter(([bucket]) => bucket * width > span.to)
    return buckets.length === 0 ? {} : { charge: { limit, width, buckets } }
  }
  if (entry.kind !== 'record' || !TIMED.has(entry.type)) return {}
  const { type, id, revision, commitId } = entry
  const body = JSON.stringify(JSON.parse(entry.body, reviver(span)))
  return body === entry.body
    ? {}
    : { guard: { type, id, revision, commitId }, write: { op: 'put', type, id, body } }
}

/** Types whose times the gateway compares with its clock. Signed checkpoints and revisions keep their bytes. */
const TIMED = new Set([
  'admin',
  'answer',
  'asked',
  'comments',
  'delivery',
  'destinations',
  'freezes',
  'holder',
  'instance',
  'key',
  'link',
  'seen',
  'session',
  'sizes',
  'thread',
  'tiles',
  'token',
])
const TIME = /^(?:at|until|deadline|.*_(?:at|until|since))$/

const reviver =
  (span: Span) =>
  (name: string, value: unknown): unknown =>
    typeof value === 'number' && value >= FIRST_TIME && TIME.test(name) ? moved(span, value) : value

/** Moves the charges to the time at which the store continues, so that every limit still counts them. */
export async function rebaseCharges(
  store: Store,
  charges: readonly FutureCharges[],
  { to, commitId }: { readonly to: number; readonly commitId: () => string },
): Promise<void> {
  for (const { partition, limit, width, buckets } of charges) {
    const windowMs = width * 24
    const writes = buckets.flatMap(([bucket, amount]): Write[] => [
      { op: 'charge', limit, windowMs, at: bucket * width, amount: -amount },
      { op: 'charge', limit, windowMs, at: to, amount },
    ])
    const commit = { commitId: commitId(), deadline: store.now() + HOUR_MS, guards: [], writes, events: [] }
    await landed(store, partition, commit)
  }
}
