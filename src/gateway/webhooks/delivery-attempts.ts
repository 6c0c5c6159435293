import { pauseAfter } from '../../domain/retry.ts'
import { afterTry, type Destination } from '../../domain/webhook.ts'
import type { Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { replaceDestinations } from './destinations.ts'
import { type EvidenceRecord, isoTime } from '../core/event-record.ts'
import { DESTINATIONS } from './outbox.ts'
import { neverPurge, purgeAt } from '../core/expiry-index.ts'
import { type DeliveryRecord, INDEX, put, read, unchanged } from '../core/records.ts'
import { type Plan, transact } from '../core/transact.ts'

/** How one try of a delivery ended. */
export interface Tried {
  readonly result: 'success' | 'failure' | 'gone'
  /** A status, or why there was none. */
  readonly said: string
  /** The receiver asked to be left alone so long, ms. */
  readonly wishedMs?: number
}

/** What has come to its end is remembered this long. */
const DELIVERED_RETENTION_MS = 24 * 3_600_000
const DEAD_RETENTION_MS = 7 * 24 * 3_600_000

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

export interface Made {
  readonly id: string
  readonly destination: string
  readonly tried: Tried
}

/**
 * Writes down how tries ended, in one commit: delivered, to be tried again, or given up; and what that means for their destinations. Answers what became
 * of each; undefined for one that is settled already.
 */
export async function recordTries(
  deps: Deps,
  tenant: string,
  made: readonly Made[],
): Promise<readonly (DeliveryRecord['state'] | undefined)[]> {
  const { answer } = await transact(deps, tenant, async () => {
    const records = await Promise.all(made.map(({ id }) => read(deps.store, tenant, 'delivery', id)))
    const seen = new Set<string>()
    const settledNow = made.map((one, i) => {
      const record = records[i]
      if (record?.value.state !== 'waiting' || seen.has(one.id)) return undefined
      seen.add(one.id)
      return { ...one, record, after: settled(deps, record.value, one.tried) }
    })
    const written = settledNow.filter((one) => one !== undefined)
    const health = await destinationsAfter(deps, tenant, written)
    return {
      answer: settledNow.map((one) => one?.after.state),
      guards: [...written.map(({ id, record }) => unchanged('delivery', id, record)), ...health.guards],
      writes: [
        ...written.flatMap(({ id, after }) => [put('delivery', id, after), ...placesOf(deps, id, after)]),
        ...health.writes,
      ],
      evidence: [
        ...written.flatMap(({ id, after }) => evidenceOf(deps, tenant, { id, after })),
        ...health.evidence,
      ],
      landed: health.landed,
    }
  })
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
  return [{ op: 'index', index, member: id }, purgeAt('delivery', id, deps.store.now() + kept)]
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

type Health = Required<Pick<Plan<void>, 'guards' | 'writes' | 'landed' | 'evidence'>>

/** Only a change of its health touches a destination: every decision's commit guards the list. */
async function destinationsAfter(deps: Deps, tenant: string, made: readonly Made[]): Promise<Health> {
  const known = await read(deps.store, tenant, 'destinations', DESTINATIONS)
  const before = known?.value.destinations ?? []
  const evidence: EvidenceRecord[] = []
  const now = deps.store.now()
  const after = made.reduce<readonly Destination[]>((list, { destination, tried }) => {
    const one = list.find(({ id }) => id === destination)
    const next = one && afterTry(one, tried.result, now)
    if (one === undefined || next === undefined || next === one) return list
    if (next.paused !== undefined && next.paused !== one.paused) {
      const details = { id: destination, reason: next.paused.reason, result: tried.said }
      const actor = { kind: 'gateway', id: 'webhooks' } as const
      evidence.push({ type: 'webhook.paused', tenant, at: isoTime(now), actor, details })
    }
    return list.map((other) => (other === one ? next : other))
  }, before)
  if (after === before) return { guards: [], writes: [], landed: () => undefined, evidence }
  return { ...replaceDestinations(deps, tenant, { known, list: after }), evidence }
}

/** What the timer does with a delivery that has come to its end, when its time is over. */
export async function forgetDelivery(deps: Deps, tenant: string, id: string): Promise<Plan<void>> {
  const record = await read(deps.store, tenant, 'delivery', id)
  const entry = neverPurge('delivery', id)
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
  const more = entries.length === FORGOTTEN_TOGETHER
  return {
    answer: undefined,
    writes: [
      ...entries.flatMap(({ member }): Write[] => [
        { op: 'delete', type: 'delivery', id: member },
        { op: 'index', index, member },
        { op: 'index', index: INDEX.outbox(destination), member },
        neverPurge('delivery', member),
      ]),
      more ? purgeAt('webhook', destination, deps.store.now()) : neverPurge('webhook', destination),
    ],
  }
}
