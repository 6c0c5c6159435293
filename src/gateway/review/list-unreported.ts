import type { UnreportedList } from '../../contract/reviewer.ts'
import { defined } from '../../contract/defined.ts'
import { THREAD_ID } from '../../domain/id.ts'
import type { IndexEntry } from '../../store/store.ts'
import { reviewerEntry } from '../auth/standing.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import { isoTime } from '../core/event-record.ts'
import { INDEX } from '../core/indexes.ts'
import { read, unlessBroken } from '../core/records.ts'
import { storeCall } from '../core/transact.ts'

const MOST = 100

/** The newest allowed calls whose expected outcome is late. */
export async function listUnreported(deps: Deps, caller: Caller): Promise<UnreportedList> {
  reviewerEntry(deps.policies.current(), caller)
  const { tenant } = caller
  return storeCall(async () => {
    const entries = await deps.store.range(tenant, INDEX.unreported, { reverse: true, limit: MOST })
    const calls = await Promise.all(entries.map((entry) => callAt(deps, tenant, entry)))
    return { calls: calls.flat(), count: await deps.store.count(tenant, INDEX.unreported) }
  })
}

async function callAt({ store }: Deps, tenant: string, { member, score }: IndexEntry) {
  const isThread = THREAD_ID.test(member)
  const found = await unlessBroken(read(store, tenant, isThread ? 'thread' : 'call', member))
  if (found === undefined || found === 'broken') return []
  const { agent, task_id, tool: tool_name } = found.value
  const hash = isThread ? undefined : /[0-9a-f]{64}$/.exec(member)?.[0]
  const named = { action_hash: hash, thread_id: isThread ? member : undefined }
  return [{ agent, task_id, tool_name, allowed_at: isoTime(score), ...defined(named) }]
}
