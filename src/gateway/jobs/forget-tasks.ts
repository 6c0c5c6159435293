import { purgeAt, neverPurge } from '../core/expiry-index.ts'
import type { EvidenceRecord } from '../core/event-record.ts'
import { INDEX } from '../core/indexes.ts'
import { filesAfter } from '../core/record-files.ts'
import type { StoredEvent, Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import type { Plan } from '../core/transact.ts'

/*
 * Deletes what a task used, and its rejected calls, when their retention ends. The removal of a record file from the
 * store plans that for the tasks in it, so that no call pays for it.
 */

/** Time until the next look while no bundle is in force, ms. */
const WAIT_MS = 60_000

/** Plans the end of the tasks of some records. @param to ms since 1970 */
export function planForgetting(events: readonly StoredEvent[], to: number): Write[] {
  const tasks = new Set<string>()
  for (const { body } of events) {
    const { actor, task_id } = JSON.parse(body) as Partial<EvidenceRecord>
    if (actor?.kind === 'agent' && task_id !== undefined) tasks.add(`${actor.id}/${task_id}`)
  }
  return [...tasks].map((task) => purgeAt('task', task, to))
}

/** Deletes the old history of a task, as it is when the commit applies: a call may add to it meanwhile. */
export async function forgetTask(deps: Deps, tenant: string, id: string): Promise<Plan<void>> {
  const retention = deps.policies.current()?.retention
  const now = deps.store.now()
  if (retention === undefined) return { answer: undefined, writes: [purgeAt('task', id, now + WAIT_MS)] }
  const end = id.indexOf('/')
  const [agent, task] = [id.slice(0, end), id.slice(end + 1)]
  const upTo = now - retention.tasks_ms
  const history = INDEX.taskHistory(agent, task)
  const rejected = INDEX.rejected(agent, task)
  const newest = { reverse: true, limit: 1 }
  const [[used], [refused]] = await Promise.all([
    deps.store.range(tenant, history, newest),
    deps.store.range(tenant, rejected, newest),
  ])
  // the record file of a newer call plans again, when it leaves the store
  const [file] = refused === undefined ? [] : await filesAfter(deps.store, tenant, refused.score - 1, 1)
  const isOld = refused !== undefined && file !== undefined && file.time <= upTo
  const later = used !== undefined && used.score > upTo ? used.score + retention.tasks_ms + 1 : undefined
  return {
    answer: undefined,
    writes: [
      { op: 'drop', index: history, upTo },
      ...(isOld ? [{ op: 'drop', index: rejected, upTo: refused.score } as const] : []),
      later === undefined ? neverPurge('task', id) : purgeAt('task', id, later),
    ],
  }
}
