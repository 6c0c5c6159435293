import type { ThreadSummary } from '../../contract/reviewer.ts'
import type { Filters } from './filters.ts'

/** The loaded part of a queue: waiting threads, oldest first. */
export interface Loaded {
  readonly threads: readonly ThreadSummary[]
  readonly cursor: string | undefined
}

export interface Merged extends Loaded {
  /** The thread is new here: it waits, and was not in the list. */
  readonly arrived: boolean
}

/** A change of one thread, in its place. Beyond the loaded part nothing is added: it comes with its page. */
export function merge(loaded: Loaded, thread: ThreadSummary, filters: Filters, me: string): Merged {
  const { threads, cursor } = loaded
  const known = threads.some((one) => one.thread_id === thread.thread_id)
  if (!matches(thread, filters, me)) {
    return { threads: threads.filter((one) => one.thread_id !== thread.thread_id), cursor, arrived: false }
  }
  if (known) {
    const replaced = threads.map((one) => (one.thread_id === thread.thread_id ? thread : one))
    return { threads: replaced, cursor, arrived: false }
  }
  const at = threads.findIndex((one) => isBefore(thread, one))
  if (at === -1 && cursor !== undefined) return { ...loaded, arrived: true }
  const place = at === -1 ? threads.length : at
  return { threads: threads.toSpliced(place, 0, thread), cursor, arrived: true }
}

const isBefore = (a: ThreadSummary, b: ThreadSummary): boolean =>
  a.created_at < b.created_at || (a.created_at === b.created_at && a.thread_id < b.thread_id)

/** As the API would answer; words of a search are left to it. */
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
    (filters.group === undefined || thread.groups.includes(filters.group)) &&
    (filters.mine === undefined || thread.mine) &&
    isClaimed(filters.claimed, thread.claim?.reviewer, me)
  )
}

function isClaimed(wanted: string | undefined, by: string | undefined, me: string): boolean {
  return wanted === undefined || by === (wanted === 'me' ? me : undefined)
}
