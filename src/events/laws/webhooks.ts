import type { ReadEvent } from '../record/read-event.ts'
import { requireThat, textOf } from '../record/require.ts'
import type { Ledger, LedgerWebhook } from './ledger.ts'

/* Webhooks and their deliveries (docs/webhooks.md). A delivery is written in the commit of its event. */

const NO_WEBHOOK: LedgerWebhook = { gone: false, pings: 0, announced: new Map() }

export function webhookCreated(ledger: Ledger, { details }: ReadEvent): void {
  const id = textOf(details['id'], 'id')
  requireThat(!ledger.webhooks.has(id), 'this webhook was created before')
  ledger.webhooks.set(id, NO_WEBHOOK)
}

/** Requires an existing webhook. */
export function webhookChanged(ledger: Ledger, record: ReadEvent): void {
  requireThat(!webhookOf(ledger, record).gone, 'this webhook was deleted before')
}

export function webhookDeleted(ledger: Ledger, record: ReadEvent): void {
  webhookChanged(ledger, record)
  ledger.webhooks.set(idOf(record), { ...webhookOf(ledger, record), gone: true })
}

/** Counts a ping. The webhook may have been deleted in the meantime. */
export function webhookPinged(ledger: Ledger, record: ReadEvent): void {
  const webhook = webhookOf(ledger, record)
  ledger.webhooks.set(idOf(record), { ...webhook, pings: webhook.pings + 1 })
}

export function webhookRedelivered(ledger: Ledger, record: ReadEvent): void {
  webhookOf(ledger, record)
  const delivery = textOf(record.details['delivery'], 'delivery')
  if (ledger.settled.has(delivery)) ledger.settled.set(delivery, false)
}

/**
 * Requires a delivery to settle once, for an event that happened. The delivery may settle after its webhook was
 * deleted.
 */
export function webhookSettled(ledger: Ledger, record: ReadEvent): void {
  const webhook = webhookOf(ledger, record)
  const { details } = record
  const delivery = textOf(details['delivery'], 'delivery')
  const event = textOf(details['event'], 'event')
  requireThat(ledger.settled.get(delivery) !== true, 'this delivery had already ended')
  const { thread_id } = details
  if (thread_id !== undefined) requireHappened(ledger, textOf(thread_id, 'thread_id'), event)
  else if (!ledger.settled.has(delivery))
    ledger.webhooks.set(idOf(record), { ...webhook, announced: requireDecided(ledger, webhook, event) })
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

const idOf = ({ details }: ReadEvent): string => textOf(details['webhook'] ?? details['id'], 'id')

function webhookOf(ledger: Ledger, record: ReadEvent): LedgerWebhook {
  const webhook = ledger.webhooks.get(idOf(record))
  requireThat(webhook !== undefined, 'this webhook was never created')
  return webhook
}
