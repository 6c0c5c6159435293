import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ThreadList, ThreadsQuery, ThreadSummary } from '../../contract/reviewer.ts'
import { HOLDER_NAME, TASK_ID, THREAD_ID } from '../../domain/id.ts'
import { claimOf, type Thread } from '../../domain/thread.ts'
import type { IndexEntry, RangeBounds } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import type { Caller } from '../core/caller.ts'
import { freezesNow } from '../core/freezes.ts'
import { reviewerEntry } from '../auth/standing.ts'
import { decodeCursor, encodeCursor, instant } from '../core/page-cursor.ts'
import { read, unlessBroken } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import type { Snapshot } from '../../policy/language/snapshot.ts'
import { shownHeading } from '../thread/heading.ts'
import { mayApprove, summaryOf } from './thread-summary.ts'
import { storeCall } from '../core/transact.ts'

const PAGE = 25
/**
 * Maximum number of records read for one page. A filter with few matches returns a short page and a cursor, without a
 * long wait.
 */
const SCAN = 1_000
/** Maximum number of records read in one turn of the event loop. */
const CHUNK = 200

/**
 * Lists a page of the tenant's threads. Waiting threads are in order of age, oldest first; all others are newest first.
 * A broken record does not hide other threads.
 *
 * @throws GatewayError `invalid_request` for a cursor that the gateway did not issue
 */
export async function listThreads(deps: Deps, caller: Caller, query: ThreadsQuery): Promise<ThreadList> {
  const snapshot = deps.policies.current()
  reviewerEntry(snapshot, caller)
  const limit = query.limit === undefined ? PAGE : Number(query.limit)
  if (matchesNothing(query)) return { threads: [] }
  const freezes = await storeCall(() => freezesNow(deps, caller.tenant))
  const wanted = filterOf(query, caller, { now: deps.store.now(), snapshot })
  const page: Page = {
    threads: [],
    unreadable: [],
    limit,
    after: query.cursor === undefined ? undefined : decodeCursor(query.cursor, THREAD_ID),
  }
  const show = (thread: Thread | 'broken'): ThreadSummary | 'broken' | undefined => {
    if (thread === 'broken') return thread
    const summary = wanted(thread) ? summaryOf(deps, snapshot, { caller, thread, freezes }) : undefined
    return query.mine !== undefined && summary?.mine === false ? undefined : summary
  }
  for (let looked = 0; looked < SCAN;) {
    const { after } = page
    // doubles when few records match
    const size = Math.min(Math.max(limit + 1, looked), CHUNK, SCAN - looked)
    const bounds = { ...boundsOf(query), limit: size, ...(after === undefined ? {} : { after }) }
    const entries = await storeCall(() => deps.store.range(caller.tenant, indexOf(query), bounds))
    const found = await storeCall(() => threadsAt(deps, caller.tenant, entries))
    if (fill(page, entries, (i) => found[i] && show(found[i])))
      return { ...answerOf(page), ...cursorOf(page) }
    looked += entries.length
    if (entries.length < size) return answerOf(page)
    await nextTurn()
  }
  return { ...answerOf(page), ...cursorOf(page) }
}

interface Page {
  readonly threads: ThreadSummary[]
  readonly unreadable: string[]
  readonly limit: number
  /** The last entry that was processed. */
  after: IndexEntry | undefined
}

/** True when the page is full and more matches exist. */
function fill(
  page: Page,
  entries: readonly IndexEntry[],
  summaryAt: (position: number) => ThreadSummary | 'broken' | undefined,
): boolean {
  for (const [i, entry] of entries.entries()) {
    if (page.threads.length === page.limit) return true
    const summary = summaryAt(i)
    if (summary === 'broken') page.unreadable.push(entry.member)
    else if (summary !== undefined) page.threads.push(summary)
    page.after = entry
  }
  return false
}

const answerOf = ({ threads, unreadable }: Page): ThreadList => ({
  threads,
  ...(unreadable.length === 0 ? {} : { unreadable }),
})

const cursorOf = ({ after }: Page): Pick<ThreadList, 'next_cursor'> => ({ next_cursor: encodeCursor(after) })

async function threadsAt(
  deps: Deps,
  tenant: string,
  entries: readonly IndexEntry[],
): Promise<(Thread | 'broken' | undefined)[]> {
  return Promise.all(
    entries.map(async ({ member }) => {
      const record = await unlessBroken(read(deps.store, tenant, 'thread', member))
      return record === 'broken' ? record : record?.value
    }),
  )
}

/** Bounds of the creation time, which scores the indexes of threads. */
function boundsOf({ status, since, until }: ThreadsQuery): Omit<RangeBounds, 'limit'> {
  return {
    reverse: status !== 'pending_review',
    ...(since === undefined ? {} : { min: instant(since, '/since') }),
    ...(until === undefined ? {} : { max: instant(until, '/until') - 1 }),
  }
}

/** True for names that no agent or task can have. Such names need no lookup. */
function matchesNothing({ agent, task_id }: ThreadsQuery): boolean {
  return (
    (agent !== undefined && !HOLDER_NAME.test(agent)) || (task_id !== undefined && !TASK_ID.test(task_id))
  )
}

/** The smallest index that contains every match. */
function indexOf(query: ThreadsQuery): string {
  if (query.task_id !== undefined && query.agent !== undefined) return INDEX.task(query.agent, query.task_id)
  const { status } = query
  if (status === undefined) return INDEX.threads
  return INDEX.status(status === 'withdrawn' ? 'rejected' : status)
}

function filterOf(
  query: ThreadsQuery,
  caller: Caller,
  { now, snapshot }: { readonly now: number; readonly snapshot: Snapshot | undefined },
): (thread: Thread) => boolean {
  const says = saying(query.q ?? '', snapshot)
  return (thread) =>
    matches(thread, query, now) &&
    isClaimedAs(query.claimed, claimOf(thread, now)?.reviewer, caller.id) &&
    says(thread)
}

function saying(q: string, snapshot: Snapshot | undefined): (thread: Thread) => boolean {
  const words = new Set(q.toLowerCase().match(/\S+/g))
  return (thread) => {
    const text = words.size === 0 ? '' : textOf(snapshot, thread)
    return [...words].every((word) => text.includes(word))
  }
}

function matches(thread: Thread, query: ThreadsQuery, now: number): boolean {
  const wanted: [string | undefined, string][] = [
    [
      query.status,
      query.status === 'withdrawn' && thread.withdrawn_at !== undefined ? 'withdrawn' : thread.status,
    ],
    [query.tool, thread.tool],
    [query.risk, thread.risk],
    [query.agent, thread.agent],
    [query.task_id, thread.task_id],
  ]
  const group = query.group
  return (
    wanted.every(([want, is]) => want === undefined || want === is) &&
    (group === undefined || mayApprove(thread, group, now))
  )
}

function isClaimedAs(wanted: ThreadsQuery['claimed'], by: string | undefined, me: string): boolean {
  if (wanted === undefined) return true
  return by === (wanted === 'me' ? me : undefined)
}

function textOf(snapshot: Snapshot | undefined, thread: Thread): string {
  const { title = '', heading, tool, agent, task_id, message, thread_id } = thread
  const { line } = shownHeading(snapshot, tool, heading)
  return [line, title, tool, agent, task_id, message, thread_id].join('\n').toLowerCase()
}
