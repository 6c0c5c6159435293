import { THREAD_ID } from '../../domain/id.ts'
import type { Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { neverPurge, purgeAt } from '../core/expiry-index.ts'
import { INDEX } from '../core/indexes.ts'
import { legalHoldsNow } from '../core/legal-holds.ts'
import { read, remove, unchanged } from '../core/records.ts'
import type { Plan } from '../core/transact.ts'
import { allowsOf } from '../agent/expected.ts'

/** Time until the next look while no bundle is in force, or a legal hold keeps the entry, ms. */
const WAIT_MS = 60_000

/** Lists a call whose expected outcome is late, and deletes its entry when it is no longer needed. */
export async function dueCall(deps: Deps, tenant: string, id: string): Promise<Plan<void>> {
  if (THREAD_ID.test(id)) return dueThread(deps, tenant, id)
  const call = await read(deps.store, tenant, 'call', id)
  if (call === undefined) return { answer: undefined, writes: [neverPurge('call', id)] }
  const { at, ended } = call.value
  const now = deps.store.now()
  const until = at + (deps.policies.current()?.retention.threads_ms ?? Infinity)
  const isLate = ended.length < (await deps.store.count(tenant, allowsOf(id)))
  const holds = await legalHoldsNow(deps, tenant)
  const guards = [unchanged('call', id, call), holds.guard]
  const list: Write[] = isLate ? [{ op: 'index', index: INDEX.unreported, member: id, to: at }] : []
  if ((isLate && now < until) || holds.over(call.value) !== undefined)
    return {
      answer: undefined,
      guards,
      writes: [...list, purgeAt('call', id, until < Infinity && until > now ? until : now + WAIT_MS)],
    }
  return {
    answer: undefined,
    guards,
    writes: [
      neverPurge('call', id),
      remove('call', id),
      { op: 'drop', index: allowsOf(id), upTo: Number.MAX_SAFE_INTEGER },
      { op: 'index', index: INDEX.unreported, member: id },
    ],
  }
}

/** A held call stays listed until its outcome arrives, or its thread is deleted. */
async function dueThread(deps: Deps, tenant: string, member: string): Promise<Plan<void>> {
  const thread = await read(deps.store, tenant, 'thread', member)
  const { redeemed_at, collected_at = 0 } = thread?.value.approval ?? {}
  const isLate = thread !== undefined && thread.value.ended === undefined
  return {
    answer: undefined,
    guards: [unchanged('thread', member, thread)],
    writes: [
      neverPurge('call', member),
      ...(isLate
        ? [{ op: 'index', index: INDEX.unreported, member, to: redeemed_at ?? collected_at } as const]
        : []),
    ],
  }
}
