import { createByteSemaphore } from '../webhooks/byte-semaphore.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LIMITS } from '../../contract/limits.ts'
import { type Announcement, dueAnnouncement, type Thread } from '../../domain/thread.ts'
import type { ApprovalToken } from '../../domain/token.ts'
import type { Write } from '../../store/store.ts'
import { forgetDelivery, forgetDestination } from '../webhooks/delivery-attempts.ts'
import type { Deps } from '../core/deps.ts'
import { aboutThread, type EvidenceRecord, type Happened, isoTime } from '../core/event-record.ts'
import { freezesNow } from '../admin/freezes.ts'
import { forgetWindow, release, withoutCharges } from '../agent/limits.ts'
import { overtaken } from '../review/settle-thread.ts'
import { olderWaits } from '../core/equal-calls.ts'
import { asRepeat } from '../webhooks/notice.ts'
import { neverPurge, purgeAt, purged, type Purged, readPurged } from '../core/expiry-index.ts'
import { INDEX, read, remove, unchanged, type Versioned } from '../core/records.ts'
import { endOverlap } from '../auth/keys.ts'
import { endWhenOver, unlist } from '../auth/sessions.ts'
import { sweepFrozen } from './sweep-frozen.ts'
import { listTenants } from '../core/tenants.ts'
import { writeThread } from '../core/thread-records.ts'
import { type Plan, storeCall, transact } from '../core/transact.ts'

/** An item is given to one worker at a time; if that worker dies, another takes it over after the lease. */
const LEASE_MS = 5_000
const BATCH = 100
/** Of these so many at once: commits share a write to the disk, but each may have a large payload to read, and others wait for a turn of the event loop. */
const TOGETHER = 16

/**
 * One round of everything that happens by time alone: expiry, reminders, escalations, the end of sessions and of what a freeze has hit, and forgetting what is
 * old (answers, tokens, links, counters of limits, deliveries).
 * State is in the store, so a restart loses nothing: what came due meanwhile is done in the first round.
 * Returns how many items it dealt with; a full batch means there may be more.
 *
 * @param stop ends the round behind what is under way; the rest is for the next one, here or elsewhere
 * @throws what failed first, when all tenants had their turn: what is wrong with one, or with where it is kept, stops no other
 */
export async function runDue(deps: Deps, stop?: AbortSignal): Promise<number> {
  // agents and people do not wait for the large deliveries of this round
  const own = { ...deps, outboxRoom: createByteSemaphore() }
  let done = 0
  const failures: unknown[] = []
  for (const tenant of await listTenants(deps)) {
    for (const due of DUE) {
      if (stop?.aborted) break
      try {
        done += await runIndex(own, tenant, due, stop)
      } catch (error) {
        failures.push(error)
      }
    }
  }
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

/** Whatever is done moves or ends the entry, guarded by the thread's revision: a verb in between makes us look again. */
async function dueThread(deps: Deps, tenant: string, member: string): Promise<Plan<void>> {
  const thread = await read(deps.store, tenant, 'thread', member)
  const freezes = await freezesNow(deps, tenant)
  const plan = thread && ((await overtaken(deps, thread, freezes)) ?? (await announce(deps, thread)))
  if (plan) return { ...plan, answer: undefined }
  const due = thread?.value.due_at
  const entry: Write = { op: 'index', index: INDEX.due, member, ...(due === undefined ? {} : { to: due }) }
  return { answer: undefined, guards: [unchanged('thread', member, thread)], writes: [entry] }
}

/** One at a time: each is told to all destinations, and more than one may be more than a commit holds. What else is due follows in the next round. */
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
  // the entry is leased to us: what is due at the same moment would wait until that ends
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
  const event: Happened<'review.reminded' | 'review.escalated'> =
    group === undefined
      ? { type: 'review.reminded', details }
      : { type: 'review.escalated', details: { ...details, to: group } }
  return { ...event, ...aboutThread(thread), at: isoTime(now), actor: { kind: 'gateway', id: 'timer' } }
}

/** What came to its time is ended or forgotten. What was renewed meanwhile stays. */
async function purge(deps: Deps, tenant: string, member: string): Promise<Plan<void>> {
  const { type, id } = readPurged(member)
  // a later version's, which runs beside this one: left to that, until the lease ends
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
  delivery: forgetDelivery,
  webhook: forgetDestination,
  freeze: sweepFrozen,
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

/** A token is looked at when it expires, too: what its approval was charged is taken back when it was not redeemed. */
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
  /** Undefined when it is gone. */
  readonly until: number | undefined
}

function forgetting(deps: Deps, { type, id, until }: Kept): Write[] {
  if (until === undefined) return [neverPurge(type, id)]
  if (until > deps.store.now()) return [purgeAt(type, id, until)]
  return [neverPurge(type, id), remove(type, id)]
}

/** A link that nobody used in time. */
async function forgetLink(deps: Deps, tenant: string, hash: string): Promise<Plan<void>> {
  const link = await read(deps.store, tenant, 'link', hash)
  if (link === undefined) return { answer: undefined, writes: [neverPurge('link', hash)] }
  const writes = [remove('link', hash), ...unlist(link.value.reviewer, purged('link', hash))]
  return { answer: undefined, guards: [unchanged('link', hash, link)], writes }
}

const NOTHING = { guards: [], writes: [], evidence: [] }

/** Takes back what an approval was charged whose token has expired unredeemed. */
async function unused(
  deps: Deps,
  token: ApprovalToken,
): Promise<Required<Pick<Plan<void>, 'guards' | 'writes' | 'evidence'>>> {
  if (token.used_at !== undefined || deps.store.now() < token.expires_at) return NOTHING
  const thread = await read(deps.store, token.tenant, 'thread', token.thread_id)
  if (thread?.value.charges === undefined) return NOTHING
  const at = deps.store.now()
  const released: EvidenceRecord = {
    type: 'approval.released',
    ...aboutThread(token),
    at: isoTime(at),
    actor: { kind: 'gateway', id: 'timer' },
  }
  const written = writeThread(thread.value, withoutCharges(thread.value), { at, evidence: [released] })
  return {
    guards: [unchanged('thread', token.thread_id, thread)],
    writes: [...written.writes, ...release(thread.value)],
    evidence: written.evidence,
  }
}
