import type { ThreadSummary } from '../../contract/reviewer.ts'
import type { Loaded } from '../list/list-state.ts'
import type { Filters } from '../route/filters.ts'

export interface Merged extends Loaded<ThreadSummary> {
  /** True when the thread waits and was not in the list before. */
  readonly arrived: boolean
}

/**
 * Inserts a changed thread at its position in a queue of waiting threads, oldest first. A thread beyond the loaded part
 * is not added, because it arrives with its page.
 */
export function merge(
  loaded: Loaded<ThreadSummary>,
  thread: ThreadSummary,
  filters: Filters,
  me: string,
): Merged {
  const { items, cursor } = loaded
  const is = (one: ThreadSummary): boolean => one.thread_id === thread.thread_id
  if (!matches(thread, filters, me)) {
    return { ...loaded, items: items.filter((one) => !is(one)), arrived: false }
  }
  if (items.some(is)) {
    return { ...loaded, items: items.map((one) => (is(one) ? thread : one)), arrived: false }
  }
  const at = items.findIndex((one) => ageOf(thread) < ageOf(one))
  if (at === -1 && cursor !== undefined) return { ...loaded, arrived: true }
  return { ...loaded, items: items.toSpliced(at === -1 ? items.length : at, 0, thread), arrived: true }
}

/** The sort key of the API. All times have the same length. */
const ageOf = ({ created_at, thread_id }: ThreadSummary): string => created_at + thread_id

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
    (filters.claimed === undefined || thread.claim?.reviewer === (filters.claimed === 'me' ? me : undefined))
  )
}
