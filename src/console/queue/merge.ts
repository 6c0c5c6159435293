import type { ThreadSummary } from '../../contract/reviewer.ts'
import { WITHIN_MS } from '../../domain/thread.ts'
import type { Loaded } from '../list/list-state.ts'
import type { Filters } from '../route/filters.ts'
import { hasStopped } from '../time/asked.ts'
import { now } from '../time/clock.ts'

export interface Merged extends Loaded<ThreadSummary> {
  /** True when the thread waits and is not in the list. */
  readonly arrived: boolean
}

/**
 * Puts a changed thread into its row. Rows keep their places, also when they no longer belong to the list, so that
 * nothing moves under the cursor. A thread without a row is added only to a list that is empty.
 */
export function merge(
  loaded: Loaded<ThreadSummary>,
  thread: ThreadSummary,
  filters: Filters,
  me: string,
): Merged {
  const { items, cursor } = loaded
  const is = (one: ThreadSummary): boolean => one.thread_id === thread.thread_id
  if (items.some(is))
    return { ...loaded, items: items.map((one) => (is(one) ? thread : one)), arrived: false }
  if (!matches(thread, filters, me)) return { ...loaded, arrived: false }
  if (items.length === 0 && cursor === undefined) return { ...loaded, items: [thread], arrived: false }
  return { ...loaded, arrived: true }
}

/** True when the API would list the thread. Search words are ignored, because only the API can match them. */
export function matches(thread: ThreadSummary, filters: Filters, me: string): boolean {
  const same: readonly (readonly [string | undefined, string])[] = [
    [filters.status ?? 'pending_review', thread.status],
    [filters.risk, thread.risk],
    [filters.tool, thread.tool_name],
    [filters.agent, thread.agent],
    [filters.task_id, thread.task_id],
  ]
  return (
    same.every(([want, is]) => want === undefined || want === is) &&
    (filters.group === undefined || [...thread.groups, ...thread.escalated_to].includes(filters.group)) &&
    (filters.mine === undefined || thread.mine) &&
    isTimely(thread, filters) &&
    (filters.claimed === undefined || thread.claim?.reviewer === (filters.claimed === 'me' ? me : undefined))
  )
}

const WITHINS: Readonly<Record<string, number>> = WITHIN_MS

/** True when the thread passes the filters that depend on the time. */
function isTimely(thread: ThreadSummary, { asked, expires_within: within }: Filters): boolean {
  if (asked !== undefined && !hasStopped(thread, now.peek())) return false
  const { deadline } = thread
  return within === undefined || Date.parse(deadline ?? '') <= now.peek() + (WITHINS[within] ?? 0)
}
