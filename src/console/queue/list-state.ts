import { signal } from '@preact/signals'
import type { ThreadList, ThreadSummary } from '../../contract/reviewer.ts'
import { get, type Refusal } from '../wire/call.ts'
import { type Filters, queryOf } from './filters.ts'
import type { Loaded } from './merge.ts'

/** A list of threads as far as it is loaded. */
export interface ListState extends Loaded {
  readonly filters: Filters
  readonly loading: boolean
  readonly problem?: Refusal
}

const EMPTY: ListState = { filters: {}, threads: [], cursor: undefined, loading: true }

/** A list that loads page by page. An answer to a question that nobody asks any more is dropped. */
export function createList() {
  const state = signal<ListState>(EMPTY)
  let asked = 0

  async function ask(filters: Filters, before: readonly ThreadSummary[], cursor?: string): Promise<void> {
    const mine = ++asked
    const query = queryOf(filters)
    const place =
      cursor === undefined ? '' : `${query === '' ? '?' : '&'}cursor=${encodeURIComponent(cursor)}`
    const answer = await get<ThreadList>(`review/threads${query}${place}`)
    if (mine !== asked) return
    const { problem: _, ...last } = state.value
    state.value = answer.ok
      ? {
          filters,
          threads: [
            ...before,
            ...answer.body.threads.filter((one) => !before.some((b) => b.thread_id === one.thread_id)),
          ],
          cursor: answer.body.next_cursor,
          loading: false,
        }
      : { ...last, filters, loading: false, problem: answer.problem }
  }

  return {
    state,
    /** From the start; what is there stays until the answer comes, unless other filters are asked for. */
    load(filters: Filters): Promise<void> {
      const same = queryOf(filters) === queryOf(state.value.filters)
      state.value = same ? { ...state.value, loading: true } : { ...EMPTY, filters }
      return ask(filters, [])
    },
    more(): Promise<void> {
      const { filters, threads, cursor } = state.value
      state.value = { ...state.value, loading: true }
      return ask(filters, threads, cursor)
    },
  }
}
