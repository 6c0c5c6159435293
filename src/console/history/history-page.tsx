import { useLayoutEffect } from 'preact/hooks'
import { List } from '../list/list.tsx'
import { type Filters, queryOf } from '../route/filters.ts'
import { ThreadRow } from '../queue/thread-row.tsx'
import { addressOf, createThreads } from '../queue/threads.ts'
import { Heading } from '../shell/heading.tsx'
import { SearchForm } from './search-form.tsx'

const list = createThreads()

/** All threads, newest first, searched by words and by fields. */
export function HistoryPage({ filters }: { readonly filters: Filters }) {
  const load = (): void => void list.load(addressOf(filters))
  // loads before the first paint, like the queue
  useLayoutEffect(load, [queryOf(filters)])
  return (
    <>
      <div class="title">
        <Heading>History</Heading>
      </div>
      <SearchForm filters={filters} />
      <List
        state={list.state.value}
        label="Threads"
        name="the history"
        row={(thread) => <ThreadRow key={thread.thread_id} thread={thread} />}
        more={list.more}
        retry={load}
        empty={<h2>Nothing that has ended fits this search.</h2>}
      />
    </>
  )
}
