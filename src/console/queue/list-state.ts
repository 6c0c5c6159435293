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

  /** Reads on from `loaded` until there are as many threads as `enough`, or no more. */
  async function read(filters: Filters, loaded: Loaded, enough: number): Promise<void> {
    const mine = ++asked
    let { threads, cursor } = loaded
    do {
      const answer = await get<ThreadList>(
        `review/threads${pageOf(filters, enough - threads.length, cursor)}`,
      )
      if (mine !== asked) return
      if (!answer.ok) {
        state.value = { ...state.value, filters, loading: false, problem: answer.problem }
        return
      }
      threads = withoutTwins(threads, answer.body.threads)
      cursor = answer.body.next_cursor
    } while (cursor !== undefined && threads.length < enough)
    state.value = { filters, threads, cursor, loading: false }
  }

  return {
    state,
    /** From the start. What is there stays until the answer comes, and as much comes again, unless other filters are asked for. */
    load: (filters: Filters): Promise<void> => {
      const same = queryOf(filters) === queryOf(state.value.filters)
      state.value = same ? { ...state.value, loading: true } : { ...EMPTY, filters }
      return read(filters, EMPTY, state.value.threads.length)
    },
    more: (): Promise<void> => {
      state.value = { ...state.value, loading: true }
      return read(state.value.filters, state.value, state.value.threads.length + 1)
    },
  }
}

const MOST_AT_ONCE = 100
const PAGE = 25

function pageOf(filters: Filters, wanted: number, cursor: string | undefined): string {
  const search = new URLSearchParams(queryOf(filters))
  if (wanted > PAGE) search.set('limit', String(Math.min(wanted, MOST_AT_ONCE)))
  if (cursor !== undefined) search.set('cursor', cursor)
  return `?${search.toString()}`
}

/** A thread that the stream has brought already is not there twice. */
function withoutTwins(before: readonly ThreadSummary[], next: readonly ThreadSummary[]): ThreadSummary[] {
  const known = new Set(before.map((one) => one.thread_id))
  return [...before, ...next.filter((one) => !known.has(one.thread_id))]
}
