import type { Ping } from '../../contract/session.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { reviewerEntry } from '../auth/standing.ts'

/** The caller's tenant and id, without anything else from the directory. */
export function ping(deps: Deps, caller: Caller): Ping {
  const { id } = reviewerEntry(deps.policies.current(), caller)
  return { tenant: caller.tenant, reviewer: id }
}
