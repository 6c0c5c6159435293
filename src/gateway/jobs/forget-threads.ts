import { legalHoldKind } from '../../domain/legal-hold.ts'
import { overSince, type Thread } from '../../domain/thread.ts'
import type { Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { ALL, neverPurge, purgeAt } from '../core/expiry-index.ts'
import { INDEX } from '../core/indexes.ts'
import { type KnownLegalHolds, legalHoldsNow } from '../core/legal-holds.ts'
import { put, read, remove, revisionId, unchanged, unlessBroken, type Versioned } from '../core/records.ts'
import { type Plan, transact } from '../core/transact.ts'
import { redrawDeleted } from '../webhooks/outbox.ts'
import { entriesOf, listEntries } from '../thread/thread-indexes.ts'

/*
 * Deletes threads when their retention ends, with their revisions, comments and index entries. Evidence and threads
 * under a legal hold stay. One instance works at a time, under the lease of the tenant's entry in `INDEX.purge`.
 */

/** Threads of one commit. */
const TOGETHER = 10
/** Threads that one round reads: about a tenth of a core. Some of them may be old and still wait. */
const PER_ROUND = 40
/** Pause between two rounds while more threads are due, because decisions come first. */
const PAUSE_MS = 250
/** Time until the next look, ms. */
const EVERY_MS = 60_000
/** Evidence marks that one commit deletes. A thread with more is deleted over several rounds. */
const MARKS = 500

/** Creates the tenant's entries for `forgetThreads` and `forgetDisclosures`, once. */
export async function beginForgetting(deps: Deps, tenant: string): Promise<void> {
  if (deps.forgetting.has(tenant)) return
  await transact(deps, tenant, async () => {
    const [threads, disclosures] = await Promise.all([
      read(deps.store, tenant, 'forgotten', ALL),
      read(deps.store, tenant, 'disclosed', ALL),
    ])
    const now = deps.store.now()
    return {
      answer: undefined,
      guards: [unchanged('forgotten', ALL, threads), unchanged('disclosed', ALL, disclosures)],
      writes: [
        ...(threads ? [] : [put('forgotten', ALL, { opened_until: 0 }), purgeAt('threads', ALL, now)]),
        ...(disclosures
          ? []
          : [put('disclosed', ALL, { up_to: 0, done: 0 }), purgeAt('disclosures', ALL, now)]),
      ],
    }
  })
  deps.forgetting.set(tenant, undefined)
}

/** Deletes some threads, and plans the next round. */
export async function forgetThreads(deps: Deps, tenant: string): Promise<Plan<void>> {
  const again = (ms: number): Plan<void> => ({
    answer: undefined,
    writes: [purgeAt('threads', ALL, deps.store.now() + ms)],
  })
  const retention = deps.policies.current()?.retention
  if (retention === undefined) return again(EVERY_MS)
  if (isHeldWhole(await legalHoldsNow(deps, tenant))) return again(EVERY_MS)
  const before = deps.store.now() - retention.threads_ms
  let after = deps.forgetting.get(tenant)
  for (let looked = 0; looked < PER_ROUND; looked += TOGETHER) {
    const bounds = { limit: TOGETHER, max: before, ...(after && { after }) }
    const page = await deps.store.range(tenant, INDEX.threads, bounds)
    await forgetSome(deps, tenant, { ids: page.map(({ member }) => member), before })
    after = page.length < TOGETHER ? undefined : page.at(-1)
    deps.forgetting.set(tenant, after)
    if (after === undefined) return again(EVERY_MS)
  }
  return again(PAUSE_MS)
}

interface Some {
  readonly ids: readonly string[]
  /** Threads that were over by this time, ms since 1970, are deleted. */
  readonly before: number
}

async function forgetSome(deps: Deps, tenant: string, { ids, before }: Some): Promise<void> {
  await transact(deps, tenant, async (): Promise<Plan<void>> => {
    const known = await read(deps.store, tenant, 'forgotten', ALL)
    const holds = await legalHoldsNow(deps, tenant)
    const found = await Promise.all(ids.map((id) => unlessBroken(read(deps.store, tenant, 'thread', id))))
    const over = found.filter((one) => one !== 'broken' && one !== undefined && isOver(one.value, before))
    const threads = (over as Versioned<Thread>[]).filter(({ value }) => holds.over(value) === undefined)
    if (threads.length === 0) return { answer: undefined }
    const opened_until = Math.max(
      known?.value.opened_until ?? 0,
      ...threads.map(({ value }) => value.created_at),
    )
    return {
      answer: undefined,
      guards: [
        holds.guard,
        unchanged('forgotten', ALL, known),
        ...threads.map((one) => unchanged('thread', one.value.thread_id, one)),
      ],
      writes: [
        put('forgotten', ALL, { opened_until }),
        ...(await Promise.all(threads.map(({ value }) => deletionOf(deps, value)))).flat(),
      ],
    }
  })
}

/** True when no thread of the tenant may be deleted, so that no round has to look at them all. */
const isHeldWhole = ({ all }: KnownLegalHolds): boolean =>
  all.holds.some((hold) => legalHoldKind(hold) === 'tenant')

/** True when nothing has been able to change the thread since that time. */
function isOver(thread: Thread, before: number): boolean {
  const since = overSince(thread)
  return since !== undefined && since <= before && thread.due_at === undefined
}

/** The writes that delete a thread, or some of its evidence marks while it has many. */
export async function deletionOf(deps: Deps, thread: Thread): Promise<Write[]> {
  const { tenant, thread_id: id, revision } = thread
  const evidence = INDEX.evidence(id)
  const marks = await deps.store.range(tenant, evidence, { limit: MARKS })
  const unmark = marks.map(({ member }): Write => ({ op: 'index', index: evidence, member }))
  if (marks.length === MARKS) return unmark
  return [
    ...unmark,
    ...[...entriesOf(thread), ...listEntries(thread)].map(({ index, member }): Write => ({
      op: 'index',
      index,
      member,
    })),
    ...Array.from({ length: revision }, (_, i) => remove('revision', revisionId(id, i + 1))),
    { op: 'index', index: INDEX.unreported, member: id },
    neverPurge('call', id),
    remove('comments', id),
    remove('thread', id),
    ...(await redrawDeleted(deps, tenant, id)),
  ]
}
