import type { ThreadSummary } from '../../contract/reviewer.ts'

/** A row of the queue: one call, or equal calls of one agent, task and tool that wait together. */
export interface Row {
  readonly first: ThreadSummary
  readonly others: readonly ThreadSummary[]
}

/** Folds equal calls into one row, at the position of the first call. */
export function foldEqual(threads: readonly ThreadSummary[]): Row[] {
  const rows = new Map<string, { readonly first: ThreadSummary; readonly others: ThreadSummary[] }>()
  for (const thread of threads) {
    const key = thread.equal ?? thread.thread_id
    const row = rows.get(key)
    if (row) row.others.push(thread)
    else rows.set(key, { first: thread, others: [] })
  }
  return [...rows.values()]
}
