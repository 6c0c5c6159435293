import { holds, textOf, type ToldRecord } from './record.ts'
import type { Told, ToldWebhook } from './told.ts'

/* Webhooks, and what they were told of (docs/webhooks.md): what is delivered was written in the commit that it tells of. */

const UNTOLD: ToldWebhook = { gone: false, pings: 0, told: new Map() }

export function webhookCreated(told: Told, { details }: ToldRecord): void {
  const id = textOf(details['id'], 'id')
  holds(!told.webhooks.has(id), 'this webhook was created before')
  told.webhooks.set(id, UNTOLD)
}

/** What is changed of a webhook is changed in the list of those that are there. */
export function webhookChanged(told: Told, record: ToldRecord): void {
  holds(!webhookOf(told, record).gone, 'this webhook was deleted before')
}

export function webhookDeleted(told: Told, record: ToldRecord): void {
  webhookChanged(told, record)
  told.webhooks.set(idOf(record), { ...webhookOf(told, record), gone: true })
}

/** Whoever asks for it may be overtaken by the end of the webhook. */
export function webhookPinged(told: Told, record: ToldRecord): void {
  const webhook = webhookOf(told, record)
  told.webhooks.set(idOf(record), { ...webhook, pings: webhook.pings + 1 })
}

export function webhookRedelivered(told: Told, record: ToldRecord): void {
  webhookOf(told, record)
  const delivery = textOf(record.details['delivery'], 'delivery')
  if (told.settled.has(delivery)) told.settled.set(delivery, false)
}

/** Delivered or given up: once, of what has happened. What was on its way may end when the webhook is gone. */
export function webhookSettled(told: Told, record: ToldRecord): void {
  const webhook = webhookOf(told, record)
  const { details } = record
  const delivery = textOf(details['delivery'], 'delivery')
  const event = textOf(details['event'], 'event')
  holds(told.settled.get(delivery) !== true, 'this delivery had come to its end')
  const { thread_id } = details
  if (thread_id !== undefined) holdsHappened(told, textOf(thread_id, 'thread_id'), event)
  else if (!told.settled.has(delivery))
    told.webhooks.set(idOf(record), { ...webhook, told: holdsDecided(told, webhook, event) })
  told.settled.set(delivery, true)
}

/** Types of records after which a thread is said to have come to this. */
const TOLD_AS: Readonly<Record<string, readonly string[] | undefined>> = {
  'review.pending': ['review.pending', 'review.revised'],
  'review.rejected': ['review.rejected', 'review.frozen', 'approval.revoked'],
}

function holdsHappened(told: Told, id: string, event: string): void {
  if (told.broken.has(id)) return
  const { happened } = told.threads.get(id) ?? {}
  holds(happened !== undefined, `it tells of ${id}, which was never opened`)
  const types = TOLD_AS[event] ?? [event]
  holds(
    types.some((type) => happened.includes(type)),
    `it tells of \`${event}\`, which has not happened to ${id}`,
  )
}

/** What belongs to no thread is only counted: a webhook is told of no more than there was. */
function holdsDecided(told: Told, webhook: ToldWebhook, event: string): ToldWebhook['told'] {
  const happened = new Map([
    ['decision.allowed', told.allowed],
    ['decision.rejected', told.rejected],
    ['webhook.ping', webhook.pings],
  ]).get(event)
  holds(happened !== undefined, `nothing is told as \`${event}\` of no thread`)
  const count = (webhook.told.get(event) ?? 0) + 1
  holds(count <= happened, `it is the ${count}. \`${event}\` that it tells of, and there were ${happened}`)
  return new Map(webhook.told).set(event, count)
}

const idOf = ({ details }: ToldRecord): string => textOf(details['webhook'] ?? details['id'], 'id')

function webhookOf(told: Told, record: ToldRecord): ToldWebhook {
  const webhook = told.webhooks.get(idOf(record))
  holds(webhook !== undefined, 'this webhook was never created')
  return webhook
}
