import { pauseAfter } from '../domain/retry.ts'
import { afterTry } from '../domain/webhook.ts'
import type { Write } from '../store/store.ts'
import type { Deps } from './deps.ts'
import { replaceDestinations } from './destinations.ts'
import { type EvidenceRecord, isoTime } from './evidence.ts'
import { DESTINATIONS } from './outbox.ts'
import { type DeliveryRecord, INDEX, put, read, unchanged, webhookPurge } from './records.ts'
import { type Plan, transact } from './transact.ts'

/** How one try of a delivery ended. */
export interface Tried {
  readonly result: 'success' | 'failure' | 'gone'
  /** A status, or why there was none. */
  readonly said: string
  /** The receiver asked to be left alone so long, ms. */
  readonly wishedMs?: number
}

/** What has come to its end is remembered this long. */
export const DELIVERED_RETENTION_MS = 24 * 3_600_000
export const DEAD_RETENTION_MS = 7 * 24 * 3_600_000

/** What is to be sent; undefined when there is nothing to do any more, and then it is off the list. */
export async function deliveryToMake(
  deps: Deps,
  tenant: string,
  { id, destination }: { readonly id: string; readonly destination: string },
): Promise<DeliveryRecord | undefined> {
  const record = await read(deps.store, tenant, 'delivery', id)
  if (record?.value.state === 'waiting') return record.value
  await transact(deps, tenant, () =>
    Promise.resolve({
      answer: undefined,
      guards: [unchanged('delivery', id, record)],
      writes: [{ op: 'index', index: INDEX.outbox(destination), member: id } as const],
    }),
  )
  return undefined
}

/** Writes down how a try ended: delivered, to be tried again, or given up; and what that means for the destination. */
export async function recordTry(
  deps: Deps,
  tenant: string,
  { id, destination, tried }: { readonly id: string; readonly destination: string; readonly tried: Tried },
): Promise<DeliveryRecord['state'] | undefined> {
  const { answer } = await transact(
    deps,
    tenant,
    async (): Promise<Plan<DeliveryRecord['state'] | undefined>> => {
      const record = await read(deps.store, tenant, 'delivery', id)
      if (record?.value.state !== 'waiting') return { answer: undefined }
      const after = settled(deps, record.value, tried)
      const health = await destinationAfter(deps, tenant, { destination, tried })
      return {
        answer: after.state,
        guards: [unchanged('delivery', id, record), ...(health?.guards ?? [])],
        writes: [put('delivery', id, after), ...placesOf(deps, id, after), ...(health?.writes ?? [])],
        evidence: [...evidenceOf(deps, tenant, { id, after }), ...(health?.evidence ?? [])],
        ...(health === undefined ? {} : { landed: health.landed }),
      }
    },
  )
  return answer
}

const RANDOM_BYTES = 4

function settled(deps: Deps, record: DeliveryRecord, tried: Tried): DeliveryRecord {
  const now = deps.store.now()
  const attempts = record.attempts + 1
  const { next_at: _, ...kept } = record
  const after = { ...kept, attempts, last: { at: now, result: tried.said } }
  if (tried.result === 'success') return { ...after, state: 'delivered' }
  const random = Buffer.from(deps.random(RANDOM_BYTES)).readUInt32BE() / 2 ** 32
  const pause = tried.result === 'gone' ? undefined : pauseAfter(attempts, random, tried.wishedMs)
  return pause === undefined ? { ...after, state: 'dead' } : { ...after, next_at: now + pause }
}

function placesOf(deps: Deps, id: string, after: DeliveryRecord): Write[] {
  const index = INDEX.outbox(after.destination)
  if (after.state === 'waiting')
    return [{ op: 'index', index, member: id, to: after.next_at ?? deps.store.now() }]
  const kept = after.state === 'delivered' ? DELIVERED_RETENTION_MS : DEAD_RETENTION_MS
  return [
    { op: 'index', index, member: id },
    { op: 'index', index: INDEX.purge, member: `delivery ${id}`, to: deps.store.now() + kept },
  ]
}

function evidenceOf(
  deps: Deps,
  tenant: string,
  { id, after }: { readonly id: string; readonly after: DeliveryRecord },
): EvidenceRecord[] {
  if (after.state === 'waiting') return []
  const { thread_id, destination, attempts, type, last } = after
  return [
    {
      type: after.state === 'delivered' ? 'webhook.delivered' : 'webhook.given_up',
      tenant,
      at: isoTime(deps.store.now()),
      actor: { kind: 'gateway', id: 'webhooks' },
      details: { delivery: id, webhook: destination, event: type, thread_id, attempts, result: last?.result },
    },
  ]
}

/** Only a change of its health touches the destination: every decision's commit guards the list. */
async function destinationAfter(
  deps: Deps,
  tenant: string,
  { destination, tried }: { readonly destination: string; readonly tried: Tried },
): Promise<Required<Pick<Plan<void>, 'guards' | 'writes' | 'landed' | 'evidence'>> | undefined> {
  const known = await read(deps.store, tenant, 'destinations', DESTINATIONS)
  const list = known?.value.destinations ?? []
  const before = list.find((one) => one.id === destination)
  if (before === undefined) return undefined
  const now = deps.store.now()
  const after = afterTry(before, tried.result, now)
  if (after === before) return undefined
  const next = list.map((one) => (one === before ? after : one))
  const paused = after.paused !== before.paused ? after.paused : undefined
  const details = { id: destination, reason: paused?.reason, result: tried.said }
  const actor = { kind: 'gateway', id: 'webhooks' } as const
  return {
    ...replaceDestinations(deps, tenant, { known, list: next }),
    evidence:
      paused === undefined ? [] : [{ type: 'webhook.paused', tenant, at: isoTime(now), actor, details }],
  }
}

/** What the timer does with a delivery that has come to its end, when its time is over. */
export async function forgetDelivery(deps: Deps, tenant: string, id: string): Promise<Plan<void>> {
  const record = await read(deps.store, tenant, 'delivery', id)
  const entry: Write = { op: 'index', index: INDEX.purge, member: `delivery ${id}` }
  const guards = [unchanged('delivery', id, record)]
  if (record === undefined || record.value.state === 'waiting')
    return { answer: undefined, guards, writes: [entry] }
  const gone: Write[] = [
    { op: 'delete', type: 'delivery', id },
    { op: 'index', index: INDEX.deliveries(record.value.destination), member: id },
  ]
  return { answer: undefined, guards, writes: [entry, ...gone] }
}

const FORGOTTEN_TOGETHER = 200

/** Forgets the deliveries of a destination that was deleted, so many at a time; the timer comes back while there are more. */
export async function forgetDestination(
  deps: Deps,
  tenant: string,
  destination: string,
): Promise<Plan<void>> {
  const index = INDEX.deliveries(destination)
  const entries = await deps.store.range(tenant, index, { limit: FORGOTTEN_TOGETHER })
  const entry: Write = { op: 'index', index: INDEX.purge, member: webhookPurge(destination) }
  const more = entries.length === FORGOTTEN_TOGETHER
  return {
    answer: undefined,
    writes: [
      ...entries.flatMap(({ member }): Write[] => [
        { op: 'delete', type: 'delivery', id: member },
        { op: 'index', index, member },
        { op: 'index', index: INDEX.outbox(destination), member },
        { op: 'index', index: INDEX.purge, member: `delivery ${member}` },
      ]),
      more ? { ...entry, to: deps.store.now() } : entry,
    ],
  }
}
