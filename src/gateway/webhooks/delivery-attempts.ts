import type { Actor } from '../../domain/evidence.ts'
import { pauseAfter } from '../../domain/retry.ts'
import { afterTry } from '../../domain/webhook.ts'
import type { Write } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { replaceDestinations } from './destinations.ts'
import { type EvidenceRecord, record } from '../core/event-record.ts'
import { DESTINATIONS } from './outbox.ts'
import { neverPurge, purgeAt } from '../core/expiry-index.ts'
import { type DeliveryRecord, put, read, unchanged } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import { type Plan, transact } from '../core/transact.ts'

/** The result of one attempt of a delivery. */
export interface AttemptResult {
  /** `later` and `lost` say nothing about the destination: a message in the making, and one that is gone. */
  readonly outcome: 'success' | 'failure' | 'gone' | 'later' | 'lost'
  /** The HTTP status, or the reason why no status arrived. */
  readonly answer: string
  /** The pause that the receiver requested, ms. */
  readonly wishedMs?: number
}

/** Retention of settled deliveries. */
const DELIVERED_RETENTION_MS = 24 * 3_600_000
const DEAD_RETENTION_MS = 7 * 24 * 3_600_000

/** Returns the delivery to send. Removes a settled delivery from the outbox and returns undefined. */
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

interface Attempt {
  readonly id: string
  readonly destination: string
  readonly attempt: AttemptResult
}

/**
 * Records the result of an attempt (delivered, to be retried, or given up) and its effect on the destination.
 * Returns the state of the delivery; undefined when the delivery was already settled.
 */
export async function recordAttempt(
  deps: Deps,
  tenant: string,
  made: Attempt,
): Promise<DeliveryRecord['state'] | undefined> {
  const { id, attempt } = made
  const { answer } = await transact(deps, tenant, async () => {
    const record = await read(deps.store, tenant, 'delivery', id)
    if (record?.value.state !== 'waiting') return { answer: undefined }
    const after = settled(deps, record.value, attempt)
    const health = await destinationAfter(deps, tenant, made)
    return {
      answer: after.state,
      guards: [unchanged('delivery', id, record), ...health.guards],
      writes: [put('delivery', id, after), ...placesOf(deps, id, after), ...health.writes],
      evidence: [...evidenceOf(deps, tenant, { id, after }), ...health.evidence],
      landed: health.landed,
    }
  })
  return answer
}

const RANDOM_BYTES = 4

function settled(deps: Deps, record: DeliveryRecord, attempt: AttemptResult): DeliveryRecord {
  const now = deps.store.now()
  const attempts = record.attempts + 1
  const { next_at: _, ...kept } = record
  const after = { ...kept, attempts, last: { at: now, result: attempt.answer } }
  if (attempt.outcome === 'success') return { ...after, state: 'delivered' }
  const random = Buffer.from(deps.random(RANDOM_BYTES)).readUInt32BE() / 2 ** 32
  const isOver = attempt.outcome === 'gone' || attempt.outcome === 'lost'
  const pause = isOver ? undefined : pauseAfter(attempts, random, attempt.wishedMs)
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
  const details = {
    delivery: id,
    webhook: destination,
    event: type,
    thread_id,
    attempts,
    result: last?.result,
  }
  const settled = after.state === 'delivered' ? 'webhook.delivered' : 'webhook.given_up'
  return [record(deps.store.now(), WEBHOOKS, { tenant }, { type: settled, details })]
}

const WEBHOOKS: Actor = { kind: 'gateway', id: 'webhooks' }

type Health = Required<Pick<Plan<void>, 'guards' | 'writes' | 'landed' | 'evidence'>>

/** Writes a destination only when its health changes, because the commit of every decision guards the list. */
async function destinationAfter(
  deps: Deps,
  tenant: string,
  { destination, attempt }: Attempt,
): Promise<Health> {
  const known = await read(deps.store, tenant, 'destinations', DESTINATIONS)
  const before = known?.value.destinations ?? []
  const now = deps.store.now()
  const { outcome } = attempt
  const one = before.find(({ id }) => id === destination)
  const next = one && (outcome === 'later' || outcome === 'lost' ? one : afterTry(one, outcome, now))
  if (next === undefined || next === one)
    return { guards: [], writes: [], landed: () => undefined, evidence: [] }
  const list = before.map((other) => (other === one ? next : other))
  return {
    ...replaceDestinations(deps, tenant, { known, list }),
    evidence:
      next.paused === undefined || next.paused === one?.paused
        ? []
        : [
            record(
              now,
              WEBHOOKS,
              { tenant },
              {
                type: 'webhook.paused',
                details: { id: destination, reason: next.paused.reason, result: attempt.answer },
              },
            ),
          ],
  }
}

/** The plan that deletes a settled delivery when its retention ends. */
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

/**
 * Deletes the deliveries of a deleted destination, a batch at a time. The timer repeats the call until all are deleted.
 */
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
