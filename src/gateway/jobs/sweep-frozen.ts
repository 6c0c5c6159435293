import { defined } from '../../contract/defined.ts'
import { frozenNow } from '../../domain/freeze.ts'
import type { IndexEntry } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { freezeGuard, freezesNow } from '../core/freezes.ts'
import { BY_FREEZE_ENDED, endAll } from '../auth/sign-out.ts'
import { seatTaken } from '../thread/wait-again.ts'
import { frozenEnd } from '../thread/settle-thread.ts'
import type { KnownFreezes, Sweep } from '../core/caches.ts'
import { ALL, neverPurge, purgeAt, readPurged } from '../core/expiry-index.ts'
import { read, unlessBroken } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import { type Plan, transact } from '../core/transact.ts'

/** Entries handled in one round, because other tenants wait for the end of the round. */
const PER_ROUND = 500
/** Entries handled at the same time, because their commits share a write to the disk. */
const TOGETHER = 50
const ORDER = [INDEX.due, INDEX.purge] as const

/**
 * Ends everything that a freeze applies to: the entries of the timer, approvals with an unredeemed proof, and sign-ins
 * of frozen reviewers. Each item ends in its own commit. The sweep skips items that another instance or a verb has
 * ended. One call handles a part of the entries. The timer repeats the call until all entries are handled. After an
 * interruption or another freeze, the sweep starts again.
 */
export async function sweepFrozen(deps: Deps, tenant: string): Promise<Plan<void>> {
  const known = await freezesNow(deps, tenant)
  for (const { reviewer: id } of frozenNow(known.freezes))
    if (id !== undefined) await endAll(deps, { tenant, id }, BY_FREEZE_ENDED)
  let sweep: Sweep | undefined = begun(deps.sweeps.get(tenant), known)
  for (let looked = 0; sweep !== undefined && looked < PER_ROUND; looked += TOGETHER) {
    sweep = await sweepPage(deps, tenant, sweep)
    if (sweep === undefined) deps.sweeps.delete(tenant)
    else deps.sweeps.set(tenant, sweep)
  }
  const entry = sweep === undefined ? neverPurge('freeze', ALL) : purgeAt('freeze', ALL, deps.store.now())
  return { answer: undefined, guards: [freezeGuard(known)], writes: [entry] }
}

function begun(sweep: Sweep | undefined, { record }: KnownFreezes): Sweep {
  const isSame = sweep?.of?.revision === record?.revision && sweep?.of?.commitId === record?.commitId
  return sweep !== undefined && isSame ? sweep : { of: record, index: INDEX.due }
}

/**
 * Handles one page. Entries may move or disappear during the sweep. The sweep handles every entry that does not move,
 * and handles an entry that reappears again.
 *
 * @returns the next position; undefined at the end
 */
async function sweepPage(deps: Deps, tenant: string, sweep: Sweep): Promise<Sweep | undefined> {
  const { of, index, after } = sweep
  const page = await deps.store.range(tenant, index, { ...defined({ after }), limit: TOGETHER })
  await allOf(page, ({ member }) => endIfFrozen(deps, tenant, index, member))
  const last = page.at(-1)
  if (last !== undefined && page.length === TOGETHER) return { of, index, after: last }
  const next = ORDER[ORDER.indexOf(index) + 1]
  return next && { of, index: next }
}

/** Handles all entries of the page. @throws the first error, after every entry was handled */
async function allOf(page: readonly IndexEntry[], act: (entry: IndexEntry) => Promise<void>): Promise<void> {
  const settled = await Promise.allSettled(page.map(act))
  const failed = settled.find((one) => one.status === 'rejected')
  if (failed) throw failed.reason
}

async function endIfFrozen(deps: Deps, tenant: string, index: Sweep['index'], member: string): Promise<void> {
  if (index === INDEX.due) return endThread(deps, tenant, member)
  const { type, id } = readPurged(member)
  const token = type === 'token' ? await read(deps.store, tenant, 'token', id) : undefined
  if (token === undefined || token.value.used_at !== undefined) return
  if (deps.store.now() < token.value.expires_at) await endThread(deps, tenant, token.value.thread_id)
}

async function endThread(deps: Deps, tenant: string, thread_id: string): Promise<void> {
  await transact(deps, tenant, async (): Promise<Plan<void>> => {
    const known = await freezesNow(deps, tenant)
    const thread = await unlessBroken(read(deps.store, tenant, 'thread', thread_id))
    // skips a broken record, so that it blocks no other record; its thread is frozen after the repair
    if (thread === 'broken') return { answer: undefined }
    const plan = thread && (frozenEnd(deps, thread, known) ?? seatTaken(deps, thread, known))
    return { ...plan, answer: undefined }
  })
}
