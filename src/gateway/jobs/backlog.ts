import { setImmediate as nextTurn } from 'node:timers/promises'
import { RISKS } from '../../domain/decision.ts'
import { type FreezeKind, frozenNow, kindOf } from '../../domain/freeze.ts'
import { type LegalHoldKind, legalHoldKind } from '../../domain/legal-hold.ts'
import type { Snapshot } from '../../policy/language/snapshot.ts'
import type { Deps } from '../core/deps.ts'
import { destinations } from '../webhooks/destinations.ts'
import { ALL } from '../core/expiry-index.ts'
import { FREEZES, freezesNow } from '../core/freezes.ts'
import { read, type StoreSizes, SYSTEM, unlessBroken } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import { listTenants, webhookTenants } from '../core/tenants.ts'
import { quorumOf } from '../review/thread-summary.ts'

/** Counts of held threads and waiting deliveries across all tenants. */
export interface Census {
  /** Waiting threads by risk: their number, and the age of the oldest in ms. */
  readonly pending: ReadonlyMap<string, { readonly count: number; readonly oldestAgeMs: number }>
  /** For each group, the number of threads with an empty seat for that group, among the longest-waiting threads. */
  readonly groups: ReadonlyMap<string, number>
  /** Deliveries that are not settled. */
  readonly deliveries: number
  /** Calls whose expected outcome is late. */
  readonly unreported: number
  /**
   * The time, in ms, by which the oldest due delivery of an unpaused destination is overdue; 0 when no delivery is due.
   */
  readonly overdueMs: number
  /** Paused destinations, by reason. */
  readonly paused: ReadonlyMap<string, number>
  /** Freezes in force, by scope. */
  readonly frozen: ReadonlyMap<FreezeKind, number>
  /** Legal holds in force, by scope. */
  readonly legalHolds: ReadonlyMap<LegalHoldKind, number>
  /** The last measurement of the store. */
  readonly sizes: StoreSizes | undefined
}

/** The most threads to read for their groups. */
const LOOKED_AT = 200

/** Tenants counted in one turn of the event loop. Thousands may exist, and every scrape counts them all. */
const TENANTS_TOGETHER = 50

async function* inTurns(tenants: readonly string[]): AsyncGenerator<string> {
  for (const [i, tenant] of tenants.entries()) {
    if (i > 0 && i % TENANTS_TOGETHER === 0) await nextTurn()
    yield tenant
  }
}

/** Counts index entries. Only the few longest-waiting threads are read. */
export async function census(deps: Deps): Promise<Census> {
  const tenants = await listTenants(deps)
  const { pending, oldest } = await waitingThreads(deps, tenants)
  const groups = await emptySeats(deps, oldest)
  return {
    pending,
    groups,
    ...(await waitingDeliveries(deps)),
    ...(await scopesInForce(deps, tenants)),
    sizes: await lastSizes(deps),
  }
}

interface Waiting {
  readonly tenant: string
  readonly thread_id: string
  readonly since: number
}

async function waitingThreads(
  deps: Deps,
  tenants: readonly string[],
): Promise<Pick<Census, 'pending'> & { oldest: Waiting[] }> {
  const now = deps.store.now()
  const pending = new Map(RISKS.map((risk) => [risk as string, { count: 0, oldestAgeMs: 0 }]))
  const oldest: Waiting[] = []
  for await (const tenant of inTurns(tenants)) {
    for (const risk of RISKS) {
      const index = INDEX.pending(risk)
      const found = await deps.store.range(tenant, index, { limit: LOOKED_AT })
      const [first] = found
      if (first === undefined) continue
      const { count, oldestAgeMs } = pending.get(risk) ?? { count: 0, oldestAgeMs: 0 }
      pending.set(risk, {
        count: count + (await deps.store.count(tenant, index)),
        oldestAgeMs: Math.max(oldestAgeMs, now - first.score),
      })
      oldest.push(...found.map(({ member, score }) => ({ tenant, thread_id: member, since: score })))
    }
    oldest.sort((a, b) => a.since - b.since).splice(LOOKED_AT)
  }
  return { pending, oldest }
}

async function emptySeats(deps: Deps, waiting: readonly Waiting[]): Promise<Census['groups']> {
  const groups = new Map<string, number>()
  const snapshot = deps.policies.current()
  for (const group of groupsOf(snapshot)) groups.set(group, 0)
  const records = await Promise.all(
    waiting.map(({ tenant, thread_id }) => unlessBroken(read(deps.store, tenant, 'thread', thread_id))),
  )
  for (const record of records) {
    // the groups of a broken record are unknown
    if (record === 'broken' || record?.value.status !== 'pending_review') continue
    const tenant = snapshot?.directory.tenants.get(record.value.tenant)
    const freezes = await freezesNow(deps, record.value.tenant)
    for (const seat of quorumOf(deps, tenant, { thread: record.value, freezes }).seats)
      if (seat.filledBy.length < seat.approvals)
        for (const group of [seat.group, ...seat.escalatedTo]) groups.set(group, (groups.get(group) ?? 0) + 1)
  }
  return groups
}

/** Groups with reviewers, so that groups without waiting threads are reported as well. */
function groupsOf(snapshot: Snapshot | undefined): Set<string> {
  const tenants = [...(snapshot?.directory.tenants.values() ?? [])]
  return new Set(tenants.flatMap(({ reviewers }) => [...reviewers.values()].flatMap(({ groups }) => groups)))
}

async function waitingDeliveries(deps: Deps): Promise<Pick<Census, 'deliveries' | 'overdueMs' | 'paused'>> {
  const paused = new Map<string, number>()
  const now = deps.store.now()
  let deliveries = 0
  let overdueMs = 0
  for await (const tenant of inTurns(await webhookTenants(deps)))
    for (const destination of await destinations(deps, tenant)) {
      const index = INDEX.outbox(destination.id)
      deliveries += await deps.store.count(tenant, index)
      const reason = destination.paused?.reason
      if (reason !== undefined) paused.set(reason, (paused.get(reason) ?? 0) + 1)
      else overdueMs = Math.max(overdueMs, now - (await dueAt(deps, tenant, index)))
    }
  return { deliveries, overdueMs, paused }
}

/** When the first entry is due; a leased entry counts as due when its lease ends. */
async function dueAt(deps: Deps, tenant: string, index: string): Promise<number> {
  const [first] = await deps.store.range(tenant, index, { limit: 1 })
  return first?.score ?? Infinity
}

/** Reads the store instead of the cache, because this instance may not have served the tenant recently. */
async function scopesInForce(
  deps: Deps,
  tenants: readonly string[],
): Promise<Pick<Census, 'frozen' | 'legalHolds' | 'unreported'>> {
  const frozen = new Map<FreezeKind, number>()
  const legalHolds = new Map<LegalHoldKind, number>()
  let unreported = 0
  for await (const tenant of inTurns(tenants)) {
    unreported += await deps.store.count(tenant, INDEX.unreported)
    const freezes = await read(deps.store, tenant, 'freezes', FREEZES)
    for (const freeze of freezes === undefined ? [] : frozenNow(freezes.value)) add(frozen, kindOf(freeze))
    const held = await read(deps.store, tenant, 'legal_holds', ALL)
    for (const hold of held?.value.holds ?? []) add(legalHolds, legalHoldKind(hold))
  }
  return { frozen, legalHolds, unreported }
}

/** The last measurement of the store (src/gateway/integrity/measure-store.ts); undefined before the first. */
async function lastSizes(deps: Deps): Promise<StoreSizes | undefined> {
  const sizes = (await read(deps.store, SYSTEM, 'sizes', ALL))?.value
  return sizes === undefined || sizes.at === 0 ? undefined : sizes
}

const add = <K>(counts: Map<K, number>, kind: K): void => void counts.set(kind, (counts.get(kind) ?? 0) + 1)
