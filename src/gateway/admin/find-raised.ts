import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RaisedRequest, RaisedThreads } from '../../contract/admin.ts'
import { GatewayError } from '../../contract/errors.ts'
import { asksOf } from '../../domain/decision.ts'
import { transition } from '../../domain/thread.ts'
import type { Snapshot } from '../../policy/language/snapshot.ts'
import type { Deps } from '../core/deps.ts'
import { freezesOf } from '../core/freezes.ts'
import { INDEX } from '../core/indexes.ts'
import { read, revisionId } from '../core/records.ts'
import { storeCall } from '../core/transact.ts'
import { demandOf, supports } from '../thread/approval.ts'
import { isFillable, NOT_FILLABLE } from '../thread/approvers.ts'

const TOGETHER = 100

/**
 * The waiting threads and uncollected approvals of a tenant for which another bundle asks for more. The bundle does not
 * take effect, and the answer has no value of a call.
 *
 * @throws GatewayError `invalid_request` when the bundle does not load, `not_ready` for a fault of the engine
 */
export async function findRaised(deps: Deps, { tenant, payload }: RaisedRequest): Promise<RaisedThreads> {
  const texts = Object.entries(payload).map(([path, text]) => ({ path, text }))
  const loaded = await deps.policies.trial(texts)
  if (!loaded.ok) {
    const [first] = loaded.diagnostics
    throw new GatewayError('invalid_request', `the bundle does not load: ${first?.file}: ${first?.message}`)
  }
  const threads: RaisedThreads['threads'] = []
  let examined = 0
  for (let after: { member: string; score: number } | undefined; ;) {
    const page = await storeCall(() =>
      deps.store.range(tenant, INDEX.due, { limit: TOGETHER, ...(after && { after }) }),
    )
    for (const { member } of page) {
      await nextTurn()
      threads.push(...(await storeCall(() => raisedBy(deps, loaded.snapshot, tenant, member))))
    }
    examined += page.length
    after = page.at(-1)
    if (page.length < TOGETHER) return { threads, examined }
  }
}

async function raisedBy(
  deps: Deps,
  next: Snapshot,
  tenant: string,
  thread_id: string,
): Promise<RaisedThreads['threads']> {
  const thread = (await read(deps.store, tenant, 'thread', thread_id))?.value
  if (thread === undefined || transition(thread.status, 'raise') === undefined) return []
  if (thread.approval?.collected_at !== undefined) return []
  const id = revisionId(thread_id, thread.revision)
  const revision = await read(deps.store, tenant, 'revision', id)
  const requirement = revision && (await demandOf(deps, next, thread, revision.value))
  if (requirement === undefined) return []
  const freezes = await freezesOf(deps, tenant)
  if (thread.approval !== undefined && supports(next, thread, { requirement, freezes })) return []
  const known = { requirement, freezes: freezes.freezes }
  const fillable = isFillable(next.directory.tenants.get(tenant), thread, known)
  const asks = asksOf(thread.requirement, requirement)
  return [{ thread_id, asks: fillable ? asks : `${asks}, ${NOT_FILLABLE}`, fillable }]
}
