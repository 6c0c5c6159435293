import { useEffect } from 'preact/hooks'
import { createList } from '../queue/list-state.ts'
import { type FilterName, type Filters, queryOf, withFilter } from '../queue/filters.ts'
import { ThreadList } from '../queue/thread-list.tsx'
import { refine } from '../router.ts'
import { Heading } from '../shell/heading.tsx'

const list = createList()

const STATUSES: readonly (readonly [string, string])[] = [
  ['', 'all'],
  ['pending_review', 'waiting'],
  ['changes_requested', 'changes requested'],
  ['approved', 'approved'],
  ['rejected', 'rejected'],
]
const FIELDS = ['tool', 'agent', 'task_id', 'group'] as const
const LABELS: Readonly<Record<string, string>> = { task_id: 'task' }

/** Every thread there was, newest first, by words and by facts. */
export function HistoryPage({ filters }: { readonly filters: Filters }) {
  const load = (): void => void list.load(filters)
  useEffect(load, [queryOf(filters)])
  const set = (name: FilterName) => (event: Event) =>
    refine({
      page: 'history',
      filters: withFilter(filters, name, (event.currentTarget as HTMLInputElement).value.trim()),
    })
  return (
    <>
      <div class="title">
        <Heading>History</Heading>
      </div>
      <form class="fields search" role="search" onSubmit={(event) => event.preventDefault()}>
        <label class="wide">
          Words
          <input
            type="search"
            maxLength={200}
            value={filters.q ?? ''}
            onChange={set('q')}
            placeholder="subject, tool, agent, task, reason"
          />
        </label>
        <label>
          status
          <select value={filters.status ?? ''} onChange={set('status')}>
            {STATUSES.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        </label>
        {FIELDS.map((name) => (
          <label key={name}>
            {LABELS[name] ?? name}
            <input value={filters[name] ?? ''} onChange={set(name)} />
          </label>
        ))}
        <label>
          from
          <input type="date" value={filters.since ?? ''} onChange={set('since')} />
        </label>
        <label>
          to
          <input type="date" value={filters.until ?? ''} onChange={set('until')} />
        </label>
      </form>
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
