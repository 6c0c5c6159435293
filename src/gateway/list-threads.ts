import { GatewayError } from '../contract/errors.ts'
import type { ThreadList, ThreadsQuery, ThreadSummary } from '../contract/reviewer.ts'
import { HOLDER_NAME, TASK_ID, THREAD_ID } from '../domain/id.ts'
import type { Thread } from '../domain/thread.ts'
import type { IndexEntry } from '../store/store.ts'
import type { Deps } from './deps.ts'
import type { Caller } from './caller.ts'
import { reviewerEntry } from './identify.ts'
import { INDEX, read } from './records.ts'
import { summaryOf } from './thread-summary.ts'
import { storeCall } from './transact.ts'

const PAGE = 25
/** Most records one page looks at: a rare filter answers with a short page and a cursor, never with a long wait. */
const SCAN = 1_000

/**
 * Threads of the tenant, a page at a time: waiting ones oldest first, everything else newest first.
 *
 * @throws GatewayError `invalid_request` for a cursor that is not ours
 */
export async function listThreads(deps: Deps, caller: Caller, query: ThreadsQuery): Promise<ThreadList> {
  const snapshot = deps.policies.current()
  reviewerEntry(snapshot, caller)
  const limit = query.limit === undefined ? PAGE : Number(query.limit)
  if (matchesNothing(query)) return { threads: [] }
  const reverse = query.status !== 'pending_review'
  const threads: ThreadSummary[] = []
  let after = query.cursor === undefined ? undefined : decodeCursor(query.cursor)
  for (let looked = 0; looked < SCAN;) {
    const bounds = { reverse, limit: limit + 1, ...(after === undefined ? {} : { after }) }
    const entries = await storeCall(() => deps.store.range(caller.tenant, indexOf(query), bounds))
    for (const entry of entries) {
      if (threads.length === limit) return { threads, next_cursor: encodeCursor(after) }
      const thread = await storeCall(() => read(deps.store, caller.tenant, 'thread', entry.member))
      if (thread && matches(thread.value, query)) threads.push(summaryOf(deps, snapshot, thread.value))
      after = entry
    }
    looked += entries.length
    if (entries.length <= limit) return { threads }
  }
  return { threads, next_cursor: encodeCursor(after) }
}

/** Names that nothing of ours can have are not looked up at all. */
function matchesNothing({ agent, task_id }: ThreadsQuery): boolean {
  return (
    (agent !== undefined && !HOLDER_NAME.test(agent)) || (task_id !== undefined && !TASK_ID.test(task_id))
  )
}

/** The narrowest index that holds every match. */
function indexOf(query: ThreadsQuery): string {
  if (query.task_id !== undefined && query.agent !== undefined) return INDEX.task(query.agent, query.task_id)
  return query.status === undefined ? INDEX.threads : INDEX.status(query.status)
}

function matches(thread: Thread, query: ThreadsQuery): boolean {
  const wanted: [string | undefined, string][] = [
    [query.status, thread.status],
    [query.tool, thread.tool],
    [query.risk, thread.risk],
    [query.agent, thread.agent],
    [query.task_id, thread.task_id],
  ]
  const group = query.group
  return (
    wanted.every(([want, is]) => want === undefined || want === is) &&
    (group === undefined || thread.requirement.seats.some((seat) => seat.group === group))
  )
}

function encodeCursor(entry: IndexEntry | undefined): string {
  return Buffer.from(JSON.stringify([entry?.score ?? 0, entry?.member ?? ''])).toString('base64url')
}

function decodeCursor(text: string): IndexEntry {
  try {
    const [score, member] = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as unknown[]
    const ours = Number.isFinite(score) && typeof member === 'string' && THREAD_ID.test(member)
    if (ours) return { score: score as number, member }
  } catch {
    // falls through: not ours
  }
  throw new GatewayError('invalid_request', 'the cursor is not one of ours', {
    errors: [{ pointer: '/cursor', message: 'use the `next_cursor` of the page before' }],
  })
}
