import { type FilterName, type Filters, withFilter } from '../route/filters.ts'
import { refine } from '../route/router.ts'
import { Field, Select } from '../shell/field.tsx'
import { More } from '../shell/more.tsx'

/** No status of a thread: most of these calls have none. */
export const UNREPORTED = 'unreported'

const STATUSES: readonly (readonly [string, string])[] = [
  ['', 'all'],
  ['approved', 'approved'],
  ['rejected', 'rejected'],
  ['withdrawn', 'withdrawn'],
  ['changes_requested', 'changes requested'],
  [UNREPORTED, 'allowed, never reported'],
]
const FIELDS = ['tool', 'agent', 'task_id', 'group'] as const

/** A search by words, by outcome, and by further fields, which stay folded until a reader needs them. */
export function SearchForm({ filters }: { readonly filters: Filters }) {
  const set = (name: FilterName) => (value: string) =>
    refine({ page: 'history', filters: withFilter(filters, name, value) })
  return (
    <form class="fields search" role="search" onSubmit={(event) => event.preventDefault()}>
      <label>
        words
        <Field
          type="search"
          value={filters.q}
          set={set('q')}
          placeholder="subject, tool, agent, task, reason"
        />
      </label>
      <label>
        status
        <Select value={filters.status} set={set('status')} options={STATUSES} />
      </label>
      <More open={Object.keys(filters).some((name) => !['q', 'status', 'voted'].includes(name))}>
        {FIELDS.map((name) => (
          <label key={name}>
            {name.replace('_id', '')}
            <Field type="text" value={filters[name]} set={set(name)} />
          </label>
        ))}
        <label>
          from
          <Field type="date" value={filters.since} set={set('since')} />
        </label>
        <label>
          to
          <Field type="date" value={filters.until} set={set('until')} />
        </label>
      </More>
    </form>
  )
}
