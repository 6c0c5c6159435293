import { purgeAt, neverPurge } from '../core/expiry-index.ts'
import type { EvidenceRecord } from '../core/event-record.ts'
import { INDEX } from '../core/indexes.ts'
import { filesAfter } from '../core/record-files.ts'
import type { Store, StoredEvent, Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import type { Plan } from '../core/transact.ts'
import { timeOf } from './publish-tiles.ts'

/*
 * Deletes what a task used, and its rejected calls, when their retention ends. The removal of a record file from the
 * store plans that for the tasks in it, so that no call pays for it. The deletion of disclosures plans it for records
 * that are still in the store, such as all without tiles.
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
  const refusedAt = refused === undefined ? 0 : await timeOfRecord(deps.store, tenant, refused.score)
  const isOld = refused !== undefined && refusedAt <= upTo
  const last = Math.max(used?.score ?? 0, refusedAt)
  return {
    answer: undefined,
    writes: [
      { op: 'drop', index: history, upTo },
      ...(isOld ? [{ op: 'drop', index: rejected, upTo: refused.score } as const] : []),
      last > upTo ? purgeAt('task', id, last + retention.tasks_ms + 1) : neverPurge('task', id),
    ],
  }
}

/** The time of a record, or of its file if it left the store, which is a little later. */
async function timeOfRecord(store: Store, tenant: string, number: number): Promise<number> {
  const [file] = await filesAfter(store, tenant, number - 1, 1)
  if (file !== undefined) return file.time
  const [event] = await store.events(tenant, number - 1, 1)
  return event === undefined ? store.now() : timeOf(event.body)
}
