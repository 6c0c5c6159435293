import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { ThreadChange } from '../../contract/reviewer.ts'
import type { Thread } from '../../domain/thread.ts'
import type { Store, StoredEvent } from '../../store/store.ts'
import type { Caller } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import type { EvidenceRecord } from '../core/event-record.ts'
import type { KnownFreezes } from '../core/caches.ts'
import { freezesNow } from '../core/freezes.ts'
import { type KnownLegalHolds, legalHoldsNow } from '../core/legal-holds.ts'
import { reviewerInForce } from '../auth/identify.ts'
import { readableThreads } from '../thread/thread-records.ts'
import { summaryOf } from './thread-summary.ts'
import { storeCall } from '../core/transact.ts'

/**
 * Changes of a tenant's threads, from evidence of any instance. All followers of a tenant share one reader, which runs
 * as long as the tenant has followers.
 */
export interface ThreadFeed {
  /**
   * Yields changes after the place in the evidence, or new changes when no place is given, until `signal` aborts.
   *
   * @throws GatewayError `unauthenticated` when the credential was revoked, `store_unavailable` when the store cannot
   * be read
   */
  follow(caller: Caller, after: Place | undefined, signal: AbortSignal): AsyncGenerator<FeedMessage>
}

/**
 * The last evidence record that a follower knows, 0 for no record, and the commit that wrote it. A store that lost
 * records assigns their numbers again. When the commit is absent, only the number is compared.
 */
export interface Place {
  readonly number: number
  readonly commitId?: string | undefined
}

export type FeedMessage = { readonly place: Place } & (
  | { readonly kind: 'change'; readonly change: ThreadChange }
  /** The follower has received every change up to the place. */
  | { readonly kind: 'hello' }
  /** The follower must reload everything, because it missed too many changes or the store was replaced. */
  | { readonly kind: 'reset' }
)

/** Maximum wait for a wake-up, because a wake-up may be missed (S11). */
const LOOK_AGAIN_MS = 1_000
/** Records that arrive within this time are read together. */
const GATHER_MS = 20
/**
 * Records read at a time when a follower or a paused gateway catches up. Each may contain a whole request body, and
 * other requests wait during the read.
 */
const PAGE = 50
/** Maximum number of missed records that a follower can catch up on; with more, it must reload. */
const CATCH_UP = 10_000
/** Maximum number of changes queued for a slow follower. */
const INBOX = 1_000

export function createThreadFeed(deps: Deps): ThreadFeed {
  const tails = new Map<string, Promise<Tail>>()

  async function started(tenant: string): Promise<Tail> {
    return startTail(deps, tenant, await lastPlace(deps.store, tenant))
  }

  /** Joins the tenant's reader before the reader can end. */
  async function join(tenant: string, signal: AbortSignal): Promise<{ tail: Tail; inbox: Inbox }> {
    for (;;) {
      const starting = tails.get(tenant) ?? started(tenant)
      tails.set(tenant, starting)
      const tail = await starting.catch((error: unknown) => {
        tails.delete(tenant)
        throw error
      })
      if (!tail.ended()) return { tail, inbox: tail.join(signal) }
      if (tails.get(tenant) === starting) tails.delete(tenant)
    }
  }

  return {
    async *follow(caller, after, signal) {
      const { tail, inbox } = await storeCall(() => join(caller.tenant, signal))
      try {
        for (let sent = yield* catchUp(deps, caller, { after, upTo: tail.last() }); ;) {
          const changes = await inbox.next()
          if (changes === undefined) return
          if (changes === 'lost') {
            // the last place may be earlier than the place that was sent last
            const place = tail.last()
            sent = place.number
            yield { kind: 'reset', place }
            continue
          }
          await reviewerInForce(deps, caller)
          for (const change of changes.filter(({ place }) => place.number > sent)) {
            sent = change.place.number
            yield messageOf(deps, caller, change)
          }
        }
      } finally {
        inbox.leave()
      }
    },
  }
}

/** A record about a thread, and the thread's current state. */
interface Change {
  readonly place: Place
  readonly record: EvidenceRecord
  readonly thread: Thread
  readonly freezes: KnownFreezes
  readonly holds: KnownLegalHolds
}

function messageOf(deps: Deps, caller: Caller, { place, record, ...state }: Change): FeedMessage {
  const { type, at, actor } = record
  const summary = summaryOf(deps, deps.policies.current(), { caller, ...state })
  return {
    kind: 'change',
    place,
    change: { number: place.number, type, at, actor: `${actor.kind}:${actor.id}`, thread: summary },
  }
}

/** Sends the missed changes, and returns the number of the last record that the follower knows. */
async function* catchUp(
  deps: Deps,
  caller: Caller,
  { after, upTo }: { readonly after: Place | undefined; readonly upTo: Place },
): AsyncGenerator<FeedMessage, number> {
  const { tenant } = caller
  if (after === undefined) {
    yield { kind: 'hello', place: upTo }
    return upTo.number
  }
  const known = await storeCall(() => following(deps.store, tenant, after, 0))
  if (known === undefined || upTo.number - after.number > CATCH_UP) {
    yield { kind: 'reset', place: upTo }
    return upTo.number
  }
  let place = after
  while (place.number < upTo.number) {
    const { number } = place
    const events = await storeCall(() =>
      deps.store.events(tenant, number, Math.min(PAGE, upTo.number - number)),
    )
    const changes = await storeCall(() => changesIn(deps, tenant, events))
    await reviewerInForce(deps, caller)
    for (const change of changes) yield messageOf(deps, caller, change)
    place = events.at(-1) ?? upTo
    await nextTurn()
  }
  // another instance may have sent more changes than this instance has read so far
  yield { kind: 'hello', place }
  return place.number
}

interface Tail {
  /** The last record that was read. */
  last(): Place
  ended(): boolean
  join(signal: AbortSignal): Inbox
}

interface Inbox {
  /** Changes since the last call; undefined at the end. @throws the error that ended the tail */
  next(): Promise<readonly Change[] | 'lost' | undefined>
  leave(): void
}

interface Member {
  changes: Change[] | 'lost'
  readonly wake: () => void
}

function startTail(deps: Deps, tenant: string, from: Place): Tail {
  const members = new Set<Member>()
  const stop = new AbortController()
  let last = from
  let failure: unknown

  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const { woken, cancel } = waking(deps.store, tenant, stop.signal)
      try {
        const events = await following(deps.store, tenant, last, PAGE)
        if (events === undefined) {
          last = await lastPlace(deps.store, tenant)
          for (const member of members) deliver(member, 'lost')
          continue
        }
        const changes = await changesIn(deps, tenant, events)
        last = events.at(-1) ?? last
        if (changes.length > 0) for (const member of members) deliver(member, changes)
        if (events.length === PAGE) await nextTurn()
        else if (events.length > 0) await pause(GATHER_MS)
        else await woken
      } finally {
        cancel()
      }
    }
  }
  const end = (error?: unknown): void => {
    failure = error
    stop.abort()
    for (const member of members) member.wake()
  }
  void run().catch(end)

  return {
    last: () => last,
    ended: () => stop.signal.aborted,
    join(signal) {
      let wake = (): void => undefined
      const member: Member = { changes: [], wake: () => wake() }
      members.add(member)
      signal.addEventListener('abort', member.wake)
      return {
        async next() {
          while (member.changes.length === 0 && !signal.aborted && !stop.signal.aborted)
            await new Promise<void>((resolve) => (wake = resolve))
          if (signal.aborted) return undefined
          const { changes } = member
          member.changes = []
          if (changes.length === 0 && failure !== undefined) return storeCall(() => Promise.reject(failure))
          return changes.length === 0 ? undefined : changes
        },
        leave() {
          signal.removeEventListener('abort', member.wake)
          members.delete(member)
          if (members.size === 0) end()
        },
      }
    },
  }
}

function deliver(member: Member, changes: readonly Change[] | 'lost'): void {
  const { changes: waiting } = member
  if (waiting === 'lost' || changes === 'lost') member.changes = 'lost'
  else member.changes = waiting.length + changes.length > INBOX ? 'lost' : [...waiting, ...changes]
  member.wake()
}

/**
 * Returns the records after a place. Undefined when the store has no record at the place, or a different record. Such a
 * store has lost records that were sent, and will assign their numbers again.
 */
async function following(
  store: Store,
  tenant: string,
  { number, commitId }: Place,
  most: number,
): Promise<readonly StoredEvent[] | undefined> {
  if (number === 0) return most === 0 ? [] : store.events(tenant, 0, most)
  const [same, ...events] = await store.events(tenant, number - 1, most + 1)
  if (same?.number !== number || (commitId ?? same.commitId) !== same.commitId) return undefined
  return events
}

/** Starts to wait before the first read, so that the caller misses no commit in between. */
function waking(
  store: Store,
  tenant: string,
  signal: AbortSignal,
): { readonly woken: Promise<void>; readonly cancel: () => void } {
  const controller = new AbortController()
  const cancel = (): void => {
    clearTimeout(timer)
    signal.removeEventListener('abort', cancel)
    controller.abort()
  }
  const timer = setTimeout(cancel, LOOK_AGAIN_MS)
  signal.addEventListener('abort', cancel)
  // ignores the error, because the read will also fail and report it
  return { woken: store.watch(tenant, controller.signal).catch(() => undefined), cancel }
}

/**
 * A member name that appears unescaped only in the record itself. Most records concern calls that were decided
 * immediately, and need no parsing.
 */
const ABOUT_THREAD = '"thread_id":'

async function changesIn(deps: Deps, tenant: string, events: readonly StoredEvent[]): Promise<Change[]> {
  const records = events
    .filter(({ body }) => body.includes(ABOUT_THREAD))
    .map(({ number, commitId, body }) => ({
      place: { number, commitId },
      record: JSON.parse(body) as EvidenceRecord,
    }))
  if (records.length === 0) return []
  const ids = [...new Set(records.flatMap(({ record }) => record.thread_id ?? []))]
  const threads = await readableThreads(deps, tenant, ids)
  const freezes = await freezesNow(deps, tenant)
  const holds = await legalHoldsNow(deps, tenant)
  const known = new Map(threads.map((thread) => [thread.thread_id, thread]))
  return records.flatMap(({ place, record }) => {
    const thread = known.get(record.thread_id ?? '')
    return thread === undefined ? [] : [{ place, record, thread, freezes, holds }]
  })
}

/** The last place. Evidence numbers have no gaps, so a binary search finds the last number in the store. */
async function lastPlace(store: Store, tenant: string): Promise<Place> {
  let low = (await store.firstEvent(tenant)) - 1
  let step = 1
  while (await eventAt(store, tenant, low + step)) step *= 2
  let high = low + step
  low += Math.floor(step / 2)
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (await eventAt(store, tenant, middle)) low = middle
    else high = middle
  }
  return { number: low, commitId: (await eventAt(store, tenant, low))?.commitId }
}

async function eventAt(store: Store, tenant: string, number: number): Promise<StoredEvent | undefined> {
  return number === 0 ? undefined : (await store.events(tenant, number - 1, 1))[0]
}
