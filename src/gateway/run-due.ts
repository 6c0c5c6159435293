import { LIMITS } from '../contract/limits.ts'
import { dueAnnouncements, type Thread } from '../domain/thread.ts'
import type { ApprovalToken } from '../domain/token.ts'
import type { Write } from '../store/store.ts'
import { forgetDelivery, forgetDestination } from './attempt.ts'
import type { Deps } from './deps.ts'
import { aboutThread, type EvidenceRecord, isoTime } from './evidence.ts'
import { freezesNow } from './freezes.ts'
import { forgetWindow, release, withoutCharges } from './limits.ts'
import { overtaken } from './overtaken.ts'
import { INDEX, read, remove, unchanged, type Versioned } from './records.ts'
import { endWhenOver, unlist } from './sessions.ts'
import { sweepFrozen } from './sweep-frozen.ts'
import { listTenants } from './tenants.ts'
import { writeThread } from './threads.ts'
import { type Plan, storeCall, transact } from './transact.ts'

/** An item is given to one worker at a time; if that worker dies, another takes it over after the lease. */
const LEASE_MS = 5_000
const BATCH = 100

/**
 * One round of everything that happens by time alone: expiry, reminders, escalations, the end of sessions and of what a freeze has hit, and forgetting what is
 * old (answers, tokens, links, counters of limits, deliveries).
 * State is in the store, so a restart loses nothing: what came due meanwhile is done in the first round.
 * Returns how many items it dealt with; a full batch means there may be more.
 *
 * @throws what failed first, when all tenants had their turn: what is wrong with one, or with where it is kept, stops no other
 */
export async function runDue(deps: Deps): Promise<number> {
  let done = 0
  const failures: unknown[] = []
  for (const tenant of await listTenants(deps)) {
    for (const [index, handle] of DUE) {
      try {
        done += await runIndex(deps, tenant, index, handle)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  if (failures.length > 0) throw failures[0]
  return done
}

type Handler = (deps: Deps, tenant: string, member: string) => Promise<Plan<void>>

async function runIndex(deps: Deps, tenant: string, index: string, handle: Handler): Promise<number> {
  const now = deps.store.now()
  const claimed = await storeCall(() =>
    deps.store.claimDue(tenant, index, { now, lease: LEASE_MS, limit: BATCH }),
  )
  const settled = await Promise.allSettled(
    claimed.map(({ member }) => transact(deps, tenant, () => handle(deps, tenant, member))),
  )
  const failed = settled.find((one) => one.status === 'rejected')
  if (failed) throw failed.reason
  return claimed.length
}

const DUE: readonly (readonly [index: string, handle: Handler])[] = [
  [INDEX.due, dueThread],
  [INDEX.purge, purge],
]

/** Whatever is done moves or ends the entry, guarded by the thread's revision: a verb in between makes us look again. */
async function dueThread(deps: Deps, tenant: string, member: string): Promise<Plan<void>> {
  const thread = await read(deps.store, tenant, 'thread', member)
  const freezes = await freezesNow(deps, tenant)
  const plan = thread && ((await overtaken(deps, thread, freezes)) ?? announce(deps, thread))
  if (plan) return { ...plan, answer: undefined }
  const due = thread?.value.due_at
  const entry: Write = { op: 'index', index: INDEX.due, member, ...(due === undefined ? {} : { to: due }) }
  return { answer: undefined, guards: [unchanged('thread', member, thread)], writes: [entry] }
}

function announce(deps: Deps, thread: Versioned<Thread>): Plan<Thread> | undefined {
  const now = deps.store.now()
  const due = dueAnnouncements(thread.value, now)
  if (due.length === 0) return undefined
  const announced = [...thread.value.announced, ...due.map((one) => one.key)]
  const written = writeThread(thread.value, { ...thread.value, announced }, { at: now })
  return {
    answer: written.thread,
    guards: [unchanged('thread', thread.value.thread_id, thread)],
    writes: written.writes,
    notices: written.notices,
    evidence: due.map((one): EvidenceRecord => ({
      type: one.kind === 'reminder' ? 'review.reminded' : 'review.escalated',
      ...aboutThread(thread.value),
      at: isoTime(now),
      actor: { kind: 'gateway', id: 'timer' },
      details: {
        risk: thread.value.risk,
        due_at: isoTime(one.at),
        groups: thread.value.requirement.seats.map((seat) => seat.group),
        ...(one.group === undefined ? {} : { to: one.group }),
      },
    })),
  }
}

/**
 * What an entry of `INDEX.purge` stands for, as `type id`, has come to its time: it is ended or forgotten. What was renewed meanwhile stays.
 */
async function purge(deps: Deps, tenant: string, member: string): Promise<Plan<void>> {
  const forgotten = forgetWindow(member, deps.store.now())
  if (forgotten)
    return { answer: undefined, writes: [forgotten, { op: 'index', index: INDEX.purge, member }] }
  const [type = '', id = ''] = member.split(' ', 2)
  return (PURGES[type] ?? purgeKept)(deps, tenant, id, type)
}

type Purge = (deps: Deps, tenant: string, id: string, type: string) => Promise<Plan<void>>

const PURGES: Readonly<Record<string, Purge>> = {
  session: endWhenOver,
  link: forgetLink,
  webhook: forgetDestination,
  delivery: forgetDelivery,
  freeze: sweepFrozen,
}

/**
 * A stored answer or a token. A token is looked at when it expires, too: what its approval was charged is taken back when it was not redeemed.
 */
async function purgeKept(deps: Deps, tenant: string, id: string, type: string): Promise<Plan<void>> {
  const member = `${type} ${id}`
  const kind = type === 'token' ? 'token' : 'answer'
  const record = await read(deps.store, tenant, kind, id)
  const until = record === undefined ? 0 : keptUntil(record.value)
  const over = until <= deps.store.now()
  const entry: Write = { op: 'index', index: INDEX.purge, member, ...(over ? {} : { to: until }) }
  const released =
    record !== undefined && 'expires_at' in record.value ? await unused(deps, record.value) : NOTHING
  return {
    answer: undefined,
    guards: [unchanged(kind, id, record), ...released.guards],
    writes: [...(record !== undefined && over ? [entry, remove(kind, id)] : [entry]), ...released.writes],
    evidence: released.evidence,
  }
}

/** A link that nobody used in time. */
async function forgetLink(deps: Deps, tenant: string, hash: string): Promise<Plan<void>> {
  const link = await read(deps.store, tenant, 'link', hash)
  const member = `link ${hash}`
  if (link === undefined) return { answer: undefined, writes: [{ op: 'index', index: INDEX.purge, member }] }
  const writes = [remove('link', hash), ...unlist(link.value.reviewer, member)]
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
  return {
    guards: [unchanged('thread', token.thread_id, thread)],
    writes: [
      ...writeThread(thread.value, withoutCharges(thread.value), { at: deps.store.now() }).writes,
      ...release(thread.value),
    ],
    evidence: [
      {
        type: 'approval.released',
        ...aboutThread(token),
        at: isoTime(deps.store.now()),
        actor: { kind: 'gateway', id: 'timer' },
      },
    ],
  }
}

function keptUntil(value: { stored_at: number } | { expires_at: number }): number {
  return 'stored_at' in value
    ? value.stored_at + LIMITS.IDEMPOTENCY_MS
    : value.expires_at + LIMITS.TOKEN_RETENTION_MS
}
