import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ThreadsQuery } from '../../contract/review-requests.ts'
import type { ThreadList, ThreadSummary } from '../../contract/reviewer.ts'
import { HOLDER_NAME, TASK_ID } from '../../domain/id.ts'
import { claimOf, type Thread, WITHIN_MS } from '../../domain/thread.ts'
import type { IndexEntry, RangeBounds } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import type { Caller } from '../core/caller.ts'
import { isoTime } from '../core/event-record.ts'
import { ALL } from '../core/expiry-index.ts'
import { freezesNow } from '../core/freezes.ts'
import { legalHoldsNow } from '../core/legal-holds.ts'
import { reviewerEntry } from '../auth/standing.ts'
import { decodePlace, encodeCursor, instant } from '../core/page-cursor.ts'
import { read, unlessBroken } from '../core/records.ts'
import type { Snapshot } from '../../policy/language/snapshot.ts'
import { hasStopped } from '../thread/asked.ts'
import { shownHeading } from '../thread/heading.ts'
import { threadOfMember } from '../thread/thread-indexes.ts'
import { withDifferences } from './differences.ts'
import { type Segment, segmentsOf } from './queue-order.ts'
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

/** A thread, or an agent or a tool and a thread. */
const MEMBER = /^(?:[^ ]{1,128} )?thr_[0-9A-HJKMNP-TV-Z]{26}$/

/**
 * Lists a page of the tenant's threads, in the order of `segmentsOf`. A broken record does not hide other threads.
 *
 * @throws GatewayError `invalid_request` for a cursor that the gateway did not issue, and for an impossible order
 */
export async function listThreads(deps: Deps, caller: Caller, query: ThreadsQuery): Promise<ThreadList> {
  const known = new Map<string, Thread>()
  const list = await pageOf(deps, caller, query, known)
  const threads = await storeCall(() => withDifferences(deps, caller, list.threads, known))
  const complete = query.status === 'pending_review' ? {} : await completeness(deps, caller.tenant)
  return { ...list, threads, ...complete }
}

async function completeness(deps: Deps, tenant: string): Promise<Pick<ThreadList, 'complete_since'>> {
  const { opened_until = 0 } =
    (await storeCall(() => read(deps.store, tenant, 'forgotten', ALL)))?.value ?? {}
  return opened_until === 0 ? {} : { complete_since: isoTime(opened_until) }
}

async function pageOf(
  deps: Deps,
  caller: Caller,
  query: ThreadsQuery,
  known: Map<string, Thread>,
): Promise<ThreadList> {
  const snapshot = deps.policies.current()
  reviewerEntry(snapshot, caller)
  const limit = query.limit === undefined ? PAGE : Number(query.limit)
  const segments = segmentsOf(query, caller.id)
  const start = { segment: 0, after: undefined }
  const page: Page = {
    threads: [],
    unreadable: [],
    limit,
    ...(query.cursor === undefined ? start : decodePlace(query.cursor, MEMBER, segments.length)),
  }
  if (matchesNothing(query)) return { threads: [] }
  const freezes = await storeCall(() => freezesNow(deps, caller.tenant))
  const holds = await storeCall(() => legalHoldsNow(deps, caller.tenant))
  const wanted = filterOf(deps, query, caller, snapshot)
  const show = (thread: Thread | 'broken', { mine }: Segment): ThreadSummary | 'broken' | undefined => {
    if (thread === 'broken') return thread
    const summary = wanted(thread) ? summaryOf(deps, snapshot, { caller, thread, freezes, holds }) : undefined
    if (summary) known.set(thread.thread_id, thread)
    const asked = query.mine === undefined ? mine : true
    return asked !== undefined && summary?.mine !== asked ? undefined : summary
  }
  for (let looked = 0; looked < SCAN;) {
    const segment = segments[page.segment]
    if (segment === undefined) return answerOf(page)
    const { after } = page
    // doubles when few records match
    const size = Math.min(Math.max(limit + 1, looked), CHUNK, SCAN - looked)
    const bounds = { ...boundsOf(query, segment), limit: size, ...(after === undefined ? {} : { after }) }
    const entries = await storeCall(() => rangeOf(deps, caller.tenant, segment, bounds))
    const found = await storeCall(() => threadsAt(deps, caller.tenant, entries))
    if (fill(page, entries, (i) => found[i] && show(found[i], segment)))
      return { ...answerOf(page), ...cursorOf(page) }
    looked += entries.length
    if (entries.length < size) Object.assign(page, { segment: page.segment + 1, after: undefined })
    await nextTurn()
  }
  return page.segment < segments.length ? { ...answerOf(page), ...cursorOf(page) } : answerOf(page)
}

/** The next entries of all indexes of a segment. The threads of only as many are read as one index would give. */
async function rangeOf(
  { store }: Deps,
  tenant: string,
  { indexes }: Segment,
  bounds: RangeBounds,
): Promise<readonly IndexEntry[]> {
  const found = (await Promise.all(indexes.map((index) => store.range(tenant, index, bounds)))).flat()
  if (indexes.length === 1) return found
  const sign = bounds.reverse === true ? -1 : 1
  const order = (a: IndexEntry, b: IndexEntry): number =>
    sign * (a.score - b.score || (a.member < b.member ? -1 : Number(a.member > b.member)))
  // a thread whose risk rises between two reads is in both indexes
  const isFirst = ({ member }: IndexEntry, i: number): boolean => found[i - 1]?.member !== member
  return found.sort(order).filter(isFirst).slice(0, bounds.limit)
}

interface Page {
  readonly threads: ThreadSummary[]
  readonly unreadable: string[]
  readonly limit: number
  segment: number
  /** The last entry of the segment that was processed. */
  after: IndexEntry | undefined
}

/** True when the page is full and more matches exist. */
function fill(
  page: Page,
  entries: readonly IndexEntry[],
  summaryAt: (position: number) => ThreadSummary | 'broken' | undefined,
): boolean {
  for (const [i, entry] of entries.entries()) {
    const summary = summaryAt(i)
    if (summary === 'broken') {
      const id = threadOfMember(entry.member)
      if (!page.unreadable.includes(id)) page.unreadable.push(id)
    } else if (summary !== undefined) {
      if (page.threads.length === page.limit) return true
      page.threads.push(summary)
    }
    page.after = entry
  }
  return false
}

const answerOf = ({ threads, unreadable }: Page): ThreadList => ({
  threads,
  ...(unreadable.length === 0 ? {} : { unreadable }),
})

const cursorOf = ({ after, segment }: Page): Pick<ThreadList, 'next_cursor'> => ({
  next_cursor: encodeCursor(after, segment),
})

async function threadsAt(
  deps: Deps,
  tenant: string,
  entries: readonly IndexEntry[],
): Promise<(Thread | 'broken' | undefined)[]> {
  return Promise.all(
    entries.map(async ({ member }) => {
      const record = await unlessBroken(read(deps.store, tenant, 'thread', threadOfMember(member)))
      return record === 'broken' ? record : record?.value
    }),
  )
}

/** Bounds of the creation time, which scores most indexes of threads. */
function boundsOf(
  { since, until }: ThreadsQuery,
  { reverse = false, byCreation }: Segment,
): Omit<RangeBounds, 'limit'> {
  if (byCreation !== true) return { reverse }
  return {
    reverse,
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

function filterOf(
  deps: Deps,
  query: ThreadsQuery,
  caller: Caller,
  snapshot: Snapshot | undefined,
): (thread: Thread) => boolean {
  const now = deps.store.now()
  const says = saying(query.q ?? '', snapshot)
  const since = query.since === undefined ? -Infinity : instant(query.since, '/since')
  const until = query.until === undefined ? Infinity : instant(query.until, '/until')
  const before = query.expires_within === undefined ? Infinity : now + WITHIN_MS[query.expires_within]
  return (thread) =>
    thread.created_at >= since &&
    thread.created_at < until &&
    matches(thread, query, now) &&
    (query.voted === undefined || thread.votes.some(({ reviewer }) => reviewer === caller.id)) &&
    (query.asked === undefined || hasStopped(deps, thread)) &&
    (thread.deadline ?? Infinity) <= before &&
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
    [query.status, statusAs(query.status, thread)],
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

/** The thread's status, in the words of the filter. */
function statusAs(asked: ThreadsQuery['status'], { status, withdrawn_at }: Thread): string {
  if (asked === 'withdrawn' && withdrawn_at !== undefined) return 'withdrawn'
  return asked === 'ended' && (status === 'approved' || status === 'rejected') ? 'ended' : status
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
