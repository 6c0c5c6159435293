import { useEffect } from 'preact/hooks'
import { createList } from '../queue/list-state.ts'
import { type Filters, queryOf } from '../queue/filters.ts'
import { ThreadList } from '../queue/thread-list.tsx'
import { Heading } from '../shell/heading.tsx'
import { SearchForm } from './search-form.tsx'

const list = createList()

/** Every thread there was, newest first, by words and by facts. */
export function HistoryPage({ filters }: { readonly filters: Filters }) {
  const load = (): void => void list.load(filters)
  useEffect(load, [queryOf(filters)])
  return (
    <>
      <div class="title">
        <Heading>History</Heading>
      </div>
      <SearchForm filters={filters} />
      <ThreadList
        state={list.state.value}
        label="Threads"
        more={list.more}
        retry={load}
        empty={<p class="big">Nothing matches.</p>}
      />
    </>
  )
}
