import type { ThreadsQuery } from '../../contract/reviewer.ts'

/** The filters of a list. The address and the query of the API use the same names. */
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
  'asked',
  'expires_within',
  'voted',
  'sort',
  'since',
  'until',
  'q',
]

/** Parses the filters in the part of an address after `?`. Unknown, empty and repeated names are omitted. */
export function filtersOf(search: string): Filters {
  const given = new URLSearchParams(search)
  const pairs = NAMES.map((name) => [name, given.getAll(name)] as const)
  return Object.fromEntries(
    pairs.flatMap(([name, [value, ...more]]) => (value && more.length === 0 ? [[name, value]] : [])),
  )
}

/** Empty without filters. */
type Search = '' | `?${string}`

/** The filters as a part of an address, always in the same order. */
export function searchOf(filters: Filters): Search {
  const search = new URLSearchParams()
  for (const name of NAMES) {
    const value = filters[name]
    if (value) search.set(name, value)
  }
  const text = search.toString()
  return text === '' ? '' : `?${text}`
}

/** The filters with a changed value; an empty value removes the filter. */
export function withFilter(filters: Filters, name: FilterName, value: string | undefined): Filters {
  const { [name]: _, ...others } = filters
  return value ? { ...others, [name]: value } : others
}

/** The filters as a query of the API. Days become times in the local time zone. */
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
