import type { ThreadCounts } from '../../contract/reviewer.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { reviewerEntry } from '../auth/standing.ts'
import { INDEX } from '../core/indexes.ts'
import { storeCall } from '../core/transact.ts'

/** The number of the tenant's waiting threads by assessed risk, counted in the indexes. */
export async function countThreads(deps: Deps, caller: Caller): Promise<ThreadCounts> {
  reviewerEntry(deps.policies.current(), caller)
  const count = (index: string): Promise<number> => deps.store.count(caller.tenant, index)
  const [low, medium, high, critical, changes_requested] = await storeCall(() =>
    Promise.all([
      count(INDEX.pending('low')),
      count(INDEX.pending('medium')),
      count(INDEX.pending('high')),
      count(INDEX.pending('critical')),
      count(INDEX.status('changes_requested')),
    ]),
  )
  return { pending: { low, medium, high, critical }, changes_requested }
}
