import type { ThreadsQuery } from '../../contract/reviewer.ts'

/** What a list is narrowed to. The same names stand in the address and in the query of the API. */
export type Filters = Readonly<Partial<Record<FilterName, string>>>
export type FilterName = Exclude<keyof ThreadsQuery, 'cursor' | 'limit'>

const NAMES: readonly FilterName[] = [
  'status',
  'risk',
  'tool',
  'agent',
  'group',
  'task_id',
  'mine',
  'claimed',
  'since',
  'until',
  'q',
]

/** The part of an address after `?`; what is not ours, empty or twice there is left out. */
export function filtersOf(search: string): Filters {
  const given = new URLSearchParams(search)
  const pairs = NAMES.map((name) => [name, given.getAll(name)] as const)
  return Object.fromEntries(
    pairs.flatMap(([name, [value, ...more]]) => (value && more.length === 0 ? [[name, value]] : [])),
  )
}

/** Empty without filters. */
type Search = '' | `?${string}`

/** The other way, always in the same order. */
export function searchOf(filters: Filters): Search {
  const search = new URLSearchParams()
  for (const name of NAMES) {
    const value = filters[name]
    if (value) search.set(name, value)
  }
  const text = search.toString()
  return text === '' ? '' : `?${text}`
}

/** The filters with one changed, or taken away by an empty value. */
export function withFilter(filters: Filters, name: FilterName, value: string | undefined): Filters {
  const { [name]: _, ...others } = filters
  return value ? { ...others, [name]: value } : others
}

/** As the API wants them: days become moments of this place. */
export function queryOf(filters: Filters): Search {
  const { since, until } = filters
  return searchOf({
    ...filters,
    ...(since && { since: momentOf(since, 0) }),
    ...(until && { until: momentOf(until, 1) }),
  })
}

function momentOf(day: string, later: number): string {
  const start = new Date(`${day}T00:00:00`)
  if (Number.isNaN(start.getTime())) return day
  start.setDate(start.getDate() + later)
  return start.toISOString()
}
