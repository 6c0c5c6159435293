import { setImmediate as nextTurn } from 'node:timers/promises'
import { defined } from '../contract/defined.ts'
import type { IndexEntry } from '../store/store.ts'
import type { Deps } from './deps.ts'
import { freezeGuard, freezesNow, frozenEnd } from './freezes.ts'
import { ALL_FREEZES, neverPurge, readPurged } from './purge.ts'
import { INDEX, read, unlessBroken } from './records.ts'
import { type Plan, transact } from './transact.ts'

const PAGE = 200

/**
 * Ends what a freeze hit: everything that the timer watches over, and approvals with a token that nobody redeemed. Each in a commit of its own; what
 * another instance or a verb has ended meanwhile is left alone. Interrupted, it begins again.
 */
export async function sweepFrozen(deps: Deps, tenant: string): Promise<Plan<void>> {
  const known = await freezesNow(deps, tenant)
  await eachMember(deps, tenant, INDEX.due, (thread) => endThread(deps, tenant, thread))
  await eachMember(deps, tenant, INDEX.purge, async (member) => {
    const { type, id } = readPurged(member)
    const token = type === 'token' ? await read(deps.store, tenant, 'token', id) : undefined
    if (token === undefined || token.value.used_at !== undefined) return
    if (deps.store.now() < token.value.expires_at) await endThread(deps, tenant, token.value.thread_id)
  })
  return { answer: undefined, guards: [freezeGuard(known)], writes: [neverPurge('freeze', ALL_FREEZES)] }
}

async function endThread(deps: Deps, tenant: string, thread_id: string): Promise<void> {
  await transact(deps, tenant, async (): Promise<Plan<void>> => {
    const known = await freezesNow(deps, tenant)
    const thread = await unlessBroken(read(deps.store, tenant, 'thread', thread_id))
    // it keeps the others from nothing, and acts on nothing itself: whoever mends it finds it frozen
    if (thread === 'broken') return { answer: undefined }
    const plan = thread && frozenEnd(deps, thread, known)
    return { ...plan, answer: undefined }
  })
}

/** Entries move and go while the list is read: one that came back is looked at again, and none is passed by that stands still. */
async function eachMember(
  deps: Deps,
  tenant: string,
  index: string,
  visit: (member: string) => Promise<void>,
): Promise<void> {
  for (let after: IndexEntry | undefined; ;) {
    const page = await deps.store.range(tenant, index, { ...defined({ after }), limit: PAGE })
    for (const { member } of page) await visit(member)
    after = page.at(-1)
    if (page.length < PAGE) return
    await nextTurn()
  }
}
