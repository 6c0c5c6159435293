import { setImmediate as nextTurn } from 'node:timers/promises'
import { defined } from '../../contract/defined.ts'
import { GatewayError } from '../../contract/errors.ts'
import type { DeliveriesQuery, DeliveryList, DeliveryView, RedeliverRange } from '../../contract/webhook.ts'
import { DELIVERY_ID } from '../../domain/id.ts'
import type { IndexEntry, Write } from '../../store/store.ts'
import { adminGuards } from '../auth/administrator.ts'
import type { Deps } from '../core/deps.ts'
import { type Acting, destination } from './destinations.ts'
import { isoTime, record } from '../core/event-record.ts'
import { decodeCursor, encodeCursor, instant } from '../core/page-cursor.ts'
import { neverPurge } from '../core/expiry-index.ts'
import { type DeliveryRecord, put, read, unchanged, unlessBroken } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import { type Plan, storeCall, transact } from '../core/transact.ts'

const PAGE = 25
const SCAN = 1_000
/** Deliveries read in one turn of the event loop. Each may contain a whole payload. */
const CHUNK = 8
/**
 * Bounds of one commit that redelivers: deliveries, and the characters of their bodies. Larger commits delay other
 * commits. The maximum of a commit is 16 Mi.
 */
const TOGETHER = 50
const UNITS_TOGETHER = 1024 * 1024

/**
 * Lists the deliveries of a destination, newest first.
 * @throws GatewayError `not_found`, `invalid_request` for a cursor that the gateway did not issue
 */
export async function listDeliveries(
  deps: Deps,
  { tenant, id }: { readonly tenant: string; readonly id: string },
  query: DeliveriesQuery,
): Promise<DeliveryList> {
  await destination(deps, tenant, id)
  const limit = query.limit === undefined ? PAGE : Number(query.limit)
  const deliveries: DeliveryView[] = []
  const unreadable: string[] = []
  const answer = (): DeliveryList => ({ deliveries, ...(unreadable.length === 0 ? {} : { unreadable }) })
  let after = query.cursor === undefined ? undefined : decodeCursor(query.cursor, DELIVERY_ID)
  for (let looked = 0; looked < SCAN;) {
    const bounds = { reverse: true, limit: CHUNK, ...(after === undefined ? {} : { after }) }
    const entries = await storeCall(() => deps.store.range(tenant, INDEX.deliveries(id), bounds))
    const records = await storeCall(() => recordsAt(deps, tenant, entries))
    for (const [i, entry] of entries.entries()) {
      if (deliveries.length === limit) return { ...answer(), next_cursor: encodeCursor(after) }
      const record = records[i]
      if (record === 'broken') unreadable.push(entry.member)
      else if (record !== undefined && (query.state === undefined || record.state === query.state))
        deliveries.push(viewOf(entry.member, record))
      after = entry
    }
    looked += entries.length
    if (entries.length < CHUNK) return answer()
    await nextTurn()
  }
  return { ...answer(), next_cursor: encodeCursor(after) }
}

/** Redelivers one delivery, in any state. @throws GatewayError `not_found` */
export async function redeliver(
  deps: Deps,
  acting: Acting & { readonly id: string },
  delivery: string,
): Promise<void> {
  const { tenant, id } = acting
  await destination(deps, tenant, id)
  const isThere = DELIVERY_ID.test(delivery) && (await again(deps, acting, [delivery])) > 0
  if (!isThere) throw new GatewayError('not_found', 'no such delivery')
  deps.enqueued(tenant)
}

/** Redelivers all deliveries in `state` that were enqueued in a period; by default, those that were given up. */
export async function redeliverRange(
  deps: Deps,
  acting: Acting & { readonly id: string },
  { since, until, state = 'dead' }: RedeliverRange,
): Promise<number> {
  const { tenant, id } = acting
  await destination(deps, tenant, id)
  let count = 0
  let after: IndexEntry | undefined
  const max = until === undefined ? {} : { max: instant(until, '/until') }
  const span = { min: instant(since, '/since'), ...max }
  for (;;) {
    const bounds = { ...span, limit: TOGETHER, ...(after === undefined ? {} : { after }) }
    const entries = await storeCall(() => deps.store.range(tenant, INDEX.deliveries(id), bounds))
    const records = await storeCall(() => recordsAt(deps, tenant, entries))
    const wanted = entries.flatMap(({ member }, i) => {
      const record = records[i]
      const isWanted = record !== undefined && record !== 'broken' && record.state === state
      return isWanted ? [{ member, units: record.body.length }] : []
    })
    // reads each delivery again, because the timer may delete it in the meantime
    for (const part of partsOf(wanted)) {
      count += await again(deps, acting, part)
      await nextTurn()
    }
    after = entries.at(-1)
    if (entries.length < TOGETHER) break
    // yields even when no delivery was redelivered
    await nextTurn()
  }
  deps.enqueued(tenant)
  return count
}

/** Groups of deliveries that fit into one commit, each with at least one delivery. */
function partsOf(wanted: readonly { readonly member: string; readonly units: number }[]): string[][] {
  const parts: string[][] = []
  let room = 0
  for (const { member, units } of wanted) {
    if (units > room || parts.length === 0) {
      parts.push([])
      room = UNITS_TOGETHER
    }
    parts.at(-1)?.push(member)
    room -= units
  }
  return parts
}

/** Redelivers in one commit. Returns the number of deliveries. */
async function again(
  deps: Deps,
  acting: Acting & { readonly id: string },
  deliveries: readonly string[],
): Promise<number> {
  const { tenant, id, actor } = acting
  const { answer } = await transact(deps, tenant, async (): Promise<Plan<number>> => {
    const proof = await adminGuards(deps, acting)
    const records = await Promise.all(deliveries.map((one) => read(deps.store, tenant, 'delivery', one)))
    const ours = deliveries.flatMap((delivery, i) => {
      const record = records[i]
      return record?.value.destination === id ? [{ delivery, record }] : []
    })
    if (ours.length === 0) return { answer: 0 }
    const now = deps.store.now()
    return {
      answer: ours.length,
      guards: [...ours.map(({ delivery, record }) => unchanged('delivery', delivery, record)), ...proof],
      writes: ours.flatMap(({ delivery, record }) => waitingAgain(delivery, record.value, now)),
      evidence: ours.map(({ delivery }) =>
        record(now, actor, { tenant }, { type: 'webhook.redelivered', details: { id, delivery } }),
      ),
    }
  })
  return answer
}

function waitingAgain(delivery: string, record: DeliveryRecord, now: number): Write[] {
  const { next_at: _, ...kept } = record
  return [
    put('delivery', delivery, { ...kept, state: 'waiting', attempts: 0 }),
    { op: 'index', index: INDEX.outbox(kept.destination), member: delivery, to: now },
    // the timer deletes settled deliveries, so it must not check this waiting delivery
    neverPurge('delivery', delivery),
  ]
}

function recordsAt(
  deps: Deps,
  tenant: string,
  entries: readonly IndexEntry[],
): Promise<(DeliveryRecord | 'broken' | undefined)[]> {
  return Promise.all(
    entries.map(async ({ member }) => {
      const record = await unlessBroken(read(deps.store, tenant, 'delivery', member))
      return record === 'broken' ? record : record?.value
    }),
  )
}

function viewOf(id: string, record: DeliveryRecord): DeliveryView {
  const { type, thread_id, created_at, state, attempts, next_at, last } = record
  return {
    id,
    type: type as DeliveryView['type'],
    created_at: isoTime(created_at),
    state,
    attempts,
    ...defined({
      thread_id,
      next_at: next_at === undefined ? undefined : isoTime(next_at),
      last: last && { at: isoTime(last.at), result: last.result },
    }),
  }
}
