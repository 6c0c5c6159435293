import { type FilterName, type Filters, withFilter } from '../queue/filters.ts'
import { refine } from '../router.ts'

const STATUSES: readonly (readonly [string, string])[] = [
  ['', 'all'],
  ['pending_review', 'waiting'],
  ['changes_requested', 'changes requested'],
  ['approved', 'approved'],
  ['rejected', 'rejected'],
]
const FIELDS = ['tool', 'agent', 'task_id', 'group'] as const
const LABELS: Readonly<Record<string, string>> = { task_id: 'task' }

/** By words, by outcome, and by facts that are folded away until one of them is asked for. */
export function SearchForm({ filters }: { readonly filters: Filters }) {
  const set = (name: FilterName) => (event: Event) =>
    refine({
      page: 'history',
      filters: withFilter(filters, name, (event.currentTarget as HTMLInputElement).value.trim()),
    })
  return (
    <form class="fields search" role="search" onSubmit={(event) => event.preventDefault()}>
      <label>
        words
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
      <details class="wide" open={Object.keys(filters).some((name) => name !== 'q' && name !== 'status')}>
        <summary>More</summary>
        <div class="fields">
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
        </div>
      </details>
    </form>
  )
}
