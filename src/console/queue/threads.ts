import type { ThreadList, ThreadSummary } from '../../contract/reviewer.ts'
import { createList } from '../list/list-state.ts'
import type { Address } from '../wire/path.ts'
import { type Filters, queryOf } from '../route/filters.ts'

export const createThreads = () =>
  createList({
    items: ({ threads }: ThreadList): readonly ThreadSummary[] => threads,
    id: ({ thread_id }) => thread_id,
  })

export const addressOf = (filters: Filters): Address => `review/threads${queryOf(filters)}`
