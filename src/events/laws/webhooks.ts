import type { ReadEvent } from '../record/read-event.ts'
import { requireThat } from '../record/require.ts'
import type { Ledger, LedgerWebhook } from './ledger.ts'

/* Webhooks and their deliveries (docs/webhooks.md). A delivery is written in the commit of its event. */

const NO_WEBHOOK: LedgerWebhook = { gone: false, pings: 0, announced: new Map() }

interface Named {
  readonly id: string
}

export function webhookCreated(ledger: Ledger, { details: { id } }: ReadEvent<Named>): void {
  requireThat(!ledger.webhooks.has(id), 'this webhook was created before')
  ledger.webhooks.set(id, NO_WEBHOOK)
}

/** Requires an existing webhook. */
export function webhookChanged(ledger: Ledger, { details: { id } }: ReadEvent<Named>): void {
  requireThat(!webhookOf(ledger, id).gone, 'this webhook was deleted before')
}

export function webhookDeleted(ledger: Ledger, record: ReadEvent<Named>): void {
  webhookChanged(ledger, record)
  const { id } = record.details
  ledger.webhooks.set(id, { ...webhookOf(ledger, id), gone: true })
}

/** Counts a ping. The webhook may have been deleted in the meantime. */
export function webhookPinged(ledger: Ledger, { details: { id } }: ReadEvent<Named>): void {
  const webhook = webhookOf(ledger, id)
  ledger.webhooks.set(id, { ...webhook, pings: webhook.pings + 1 })
}

interface Redelivered extends Named {
  readonly delivery: string
}

export function webhookRedelivered(ledger: Ledger, { details }: ReadEvent<Redelivered>): void {
  const { id, delivery } = details
  webhookOf(ledger, id)
  if (ledger.settled.has(delivery)) ledger.settled.set(delivery, false)
}

interface Settled {
  readonly webhook: string
  readonly delivery: string
  readonly event: string
  readonly thread_id?: string | undefined
}

/**
 * Requires a delivery to settle once, for an event that happened. The delivery may settle after its webhook was
 * deleted.
 */
export function webhookSettled(ledger: Ledger, { details }: ReadEvent<Settled>): void {
  const { webhook: id, delivery, event, thread_id } = details
  const webhook = webhookOf(ledger, id)
  requireThat(ledger.settled.get(delivery) !== true, 'this delivery had already ended')
  if (thread_id !== undefined) requireHappened(ledger, thread_id, event)
  else if (!ledger.settled.has(delivery))
    ledger.webhooks.set(id, { ...webhook, announced: requireDecided(ledger, webhook, event) })
  ledger.settled.set(delivery, true)
}

function requireHappened(ledger: Ledger, id: string, event: string): void {
  if (ledger.broken.has(id)) return
  const { happened } = ledger.threads.get(id) ?? {}
  requireThat(happened !== undefined, `the delivery names ${id}, which was never opened`)
  requireThat(
    happened.includes(event),
    `the delivery announces \`${event}\`, which has not happened to ${id}`,
  )
}

/** Counts an event without a thread, because a webhook cannot receive more such events than happened. */
function requireDecided(ledger: Ledger, webhook: LedgerWebhook, event: string): LedgerWebhook['announced'] {
  const happened = new Map([
    ['decision.allowed', ledger.allowed],
    ['decision.rejected', ledger.rejected],
    ['webhook.ping', webhook.pings],
  ]).get(event)
  requireThat(happened !== undefined, `a delivery of \`${event}\` must name its thread`)
  const count = (webhook.announced.get(event) ?? 0) + 1
  requireThat(count <= happened, `deliveries of \`${event}\`: ${count}, but it happened ${happened} times`)
  return new Map(webhook.announced).set(event, count)
}

function webhookOf(ledger: Ledger, id: string): LedgerWebhook {
  const webhook = ledger.webhooks.get(id)
  requireThat(webhook !== undefined, 'this webhook was never created')
  return webhook
}
