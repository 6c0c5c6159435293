import { SYSTEM, TIMER } from '../../domain/evidence.ts'
import { createByteSemaphore } from '../core/byte-semaphore.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LIMITS } from '../../contract/limits.ts'
import { type Announcement, dueAnnouncement, type Thread } from '../../domain/thread.ts'
import type { ApprovalToken } from '../../domain/token.ts'
import type { Write } from '../../store/store.ts'
import { forgetDelivery, forgetDestination } from '../webhooks/delivery-attempts.ts'
import type { Deps } from '../core/deps.ts'
import { type EvidenceRecord, isoTime, record } from '../core/event-record.ts'
import { freezesNow } from '../core/freezes.ts'
import { forgetWindow, release, withoutCharges } from '../thread/limits.ts'
import { settleThread } from '../thread/settle-thread.ts'
import { olderWaits } from '../thread/equal-calls.ts'
import { asRepeat } from '../core/notice.ts'
import { neverPurge, purgeAt, purged, type Purged, readPurged } from '../core/expiry-index.ts'
import { read, remove, unchanged, type Versioned } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import { endOverlap } from '../auth/keys.ts'
import { endLinkWhenOver } from '../auth/linked-accounts.ts'
import { endWhenOver, unlist } from '../auth/sessions.ts'
import { dueCall } from './due-calls.ts'
import { beginForgetting } from './forget-threads.ts'
import { resumeErasure } from './erasing.ts'
import { FORGET } from './retention.ts'
import { sweepFrozen } from './sweep-frozen.ts'
import { listTenants } from '../core/tenants.ts'
import { writeThread } from '../thread/thread-records.ts'
import { type Plan, storeCall, transact } from '../core/transact.ts'

/**
 * Lease of an item. One worker has the item at a time. If that worker dies, another worker handles the item after the
 * lease.
 */
const LEASE_MS = 5_000
const BATCH = 100
/**
 * Items handled at the same time. The commits of these items share a write to the disk. More would delay other
 * requests, because each item may need to read a large payload.
 */
const TOGETHER = 16

/**
 * Runs one round of everything that time alone causes: expiry, reminders, escalations, the end of sessions and of
 * frozen threads. The round also deletes old answers, proofs, links, counters of limits and deliveries. State is in the
 * store, so the first round after a restart handles everything that became due in the meantime. Returns the number of
 * items; a full batch means there may be more.
 *
 * @param stop ends the round after the current work. The next round, on any instance, handles the remaining items.
 * @throws the first error, after the round has handled all tenants. A fault in one tenant does not affect the others.
 */
export async function runDue(deps: Deps, stop?: AbortSignal): Promise<number> {
  // a separate semaphore, so that agents and reviewers do not wait for the large deliveries of this round
  const own = { ...deps, outboxRoom: createByteSemaphore() }
  let done = 0
  const failures: unknown[] = []
  /** Adds the number of items, if the work counts them. */
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    if (stop?.aborted) return
    try {
      const items = await work()
      if (typeof items === 'number') done += items
    } catch (error) {
      failures.push(error)
    }
  }
  for (const tenant of await listTenants(deps)) {
    for (const due of DUE) await attempt(() => runIndex(own, tenant, due, stop))
    await attempt(() => beginForgetting(own, tenant))
  }
  // evidence of the gateway itself has disclosures too
  await attempt(() => beginForgetting(own, SYSTEM))
  await attempt(() => runIndex(own, SYSTEM, [INDEX.purge, purge], stop))
  if (failures.length > 0) throw failures[0]
  return done
}

type Handler = (deps: Deps, tenant: string, member: string) => Promise<Plan<void>>

async function runIndex(
  deps: Deps,
  tenant: string,
  [index, handle]: Due,
  stop: AbortSignal | undefined,
): Promise<number> {
  const now = deps.store.now()
  const claimed = await storeCall(() =>
    deps.store.claimDue(tenant, index, { now, lease: LEASE_MS, limit: BATCH }),
  )
  const waiting = claimed.values()
  const failures: unknown[] = []
  const work = async (): Promise<void> => {
    for (const { member } of waiting) {
      await nextTurn()
      if (stop?.aborted) return
      await transact(deps, tenant, () => handle(deps, tenant, member)).catch((error: unknown) =>
        failures.push(error),
      )
    }
  }
  await Promise.all(Array.from({ length: TOGETHER }, work))
  if (failures.length > 0) throw failures[0]
  return claimed.length
}

type Due = readonly [index: string, handle: Handler]

const DUE: readonly Due[] = [
  [INDEX.due, dueThread],
  [INDEX.purge, purge],
]

/**
 * Handles a due thread. Every outcome moves or ends the entry and guards the thread's revision. After a concurrent
 * verb, the function runs again.
 */
async function dueThread(deps: Deps, tenant: string, member: string): Promise<Plan<void>> {
  const thread = await read(deps.store, tenant, 'thread', member)
  const freezes = await freezesNow(deps, tenant)
  const plan = thread && ((await settleThread(deps, thread, freezes)) ?? (await announce(deps, thread)))
  if (plan) return { ...plan, answer: undefined }
  const due = thread?.value.due_at
  const entry: Write = { op: 'index', index: INDEX.due, member, ...(due === undefined ? {} : { to: due }) }
  return { answer: undefined, guards: [unchanged('thread', member, thread)], writes: [entry] }
}

/**
 * Makes one announcement. Each announcement is sent to all destinations, so several announcements might exceed the size
 * of a commit. The next round sends further announcements.
 */
async function announce(deps: Deps, found: Versioned<Thread>): Promise<Plan<Thread> | undefined> {
  const { value: thread } = found
  const now = deps.store.now()
  const due = dueAnnouncement(thread, now)
  if (due === undefined) return undefined
  const { thread_id: member } = thread
  const announced = { ...thread, announced: [...thread.announced, due.key] }
  const evidence = [announcementRecord(thread, due, now)]
  const written = writeThread(thread, announced, { at: now, evidence })
  const { due_at } = written.thread
  // puts the leased entry back, because further announcements due at the same time would otherwise wait for the lease
  const again: Write[] =
    due_at === thread.due_at && due_at !== undefined
      ? [{ op: 'index', index: INDEX.due, member, to: due_at }]
      : []
  return {
    answer: written.thread,
    guards: [unchanged('thread', member, found)],
    writes: [...written.writes, ...again],
    notices: (await olderWaits(deps, thread)) ? written.notices.map(asRepeat) : written.notices,
    evidence,
  }
}

function announcementRecord(thread: Thread, { at, group }: Announcement, now: number): EvidenceRecord {
  const { risk, requirement } = thread
  const details = { risk, due_at: isoTime(at), groups: requirement.seats.map((seat) => seat.group) }
  if (group === undefined) return record(now, TIMER, thread, { type: 'review.reminded', details })
  return record(now, TIMER, thread, { type: 'review.escalated', details: { ...details, to: group } })
}

/** Ends or deletes a due item. An item that was renewed in the meantime remains. */
async function purge(deps: Deps, tenant: string, member: string): Promise<Plan<void>> {
  const { type, id } = readPurged(member)
  // a newer version, which runs alongside this version, wrote the item and will handle it; the lease keeps it until
  // then
  if (!isPurged(type)) return { answer: undefined }
  return PURGES[type](deps, tenant, id)
}

type Purge = (deps: Deps, tenant: string, id: string) => Promise<Plan<void>>

const PURGES: Readonly<Record<Purged, Purge>> = {
  key: endOverlap,
  answer: forgetAnswer,
  token: forgetToken,
  session: endWhenOver,
  link: forgetLink,
  linked: endLinkWhenOver,
  clicked: (_deps, _tenant, id) =>
    Promise.resolve({ answer: undefined, writes: [remove('clicked', id), neverPurge('clicked', id)] }),
  delivery: forgetDelivery,
  webhook: forgetDestination,
  freeze: sweepFrozen,
  threads: FORGET.threads,
  disclosures: FORGET.disclosures,
  erasure: resumeErasure,
  task: FORGET.tasks,
  call: dueCall,
  limit: (deps, _tenant, limit) =>
    Promise.resolve({ answer: undefined, writes: forgetWindow(limit, deps.store.now()) }),
}

const isPurged = (type: string): type is Purged => Object.hasOwn(PURGES, type)

async function forgetAnswer(deps: Deps, tenant: string, id: string): Promise<Plan<void>> {
  const stored = await read(deps.store, tenant, 'answer', id)
  const until = stored && stored.value.stored_at + LIMITS.IDEMPOTENCY_MS
  return {
    answer: undefined,
    guards: [unchanged('answer', id, stored)],
    writes: forgetting(deps, { type: 'answer', id, until }),
  }
}

/** Deletes an old proof. When a proof expires unredeemed, reverses the charges of its approval first. */
async function forgetToken(deps: Deps, tenant: string, id: string): Promise<Plan<void>> {
  const token = await read(deps.store, tenant, 'token', id)
  const until = token && token.value.expires_at + LIMITS.TOKEN_RETENTION_MS
  const released = token === undefined ? NOTHING : await unused(deps, token.value)
  return {
    answer: undefined,
    guards: [unchanged('token', id, token), ...released.guards],
    writes: [...forgetting(deps, { type: 'token', id, until }), ...released.writes],
    evidence: released.evidence,
  }
}

interface Kept {
  readonly type: 'answer' | 'token'
  readonly id: string
  /** Undefined when the record was deleted. */
  readonly until: number | undefined
}

function forgetting(deps: Deps, { type, id, until }: Kept): Write[] {
  if (until === undefined) return [neverPurge(type, id)]
  if (until > deps.store.now()) return [purgeAt(type, id, until)]
  return [neverPurge(type, id), remove(type, id)]
}

/** Deletes a link that was not used in time. */
async function forgetLink(deps: Deps, tenant: string, hash: string): Promise<Plan<void>> {
  const link = await read(deps.store, tenant, 'link', hash)
  if (link === undefined) return { answer: undefined, writes: [neverPurge('link', hash)] }
  const writes = [remove('link', hash), ...unlist(link.value.reviewer, purged('link', hash))]
  return { answer: undefined, guards: [unchanged('link', hash, link)], writes }
}

const NOTHING = { guards: [], writes: [], evidence: [] }

/** Reverses the charges of an approval whose proof has expired unredeemed. */
async function unused(
  deps: Deps,
  token: ApprovalToken,
): Promise<Required<Pick<Plan<void>, 'guards' | 'writes' | 'evidence'>>> {
  if (token.used_at !== undefined || deps.store.now() < token.expires_at) return NOTHING
  const thread = await read(deps.store, token.tenant, 'thread', token.thread_id)
  if (thread?.value.charges === undefined) return NOTHING
  const at = deps.store.now()
  const released = record(at, TIMER, token, { type: 'approval.released' })
  const written = writeThread(thread.value, withoutCharges(thread.value), { at, evidence: [released] })
  return {
    guards: [unchanged('thread', token.thread_id, thread)],
    writes: [...written.writes, ...release(thread.value)],
    evidence: written.evidence,
  }
}
