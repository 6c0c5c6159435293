import { setImmediate as nextTurn } from 'node:timers/promises'
import type { WebhookChatBody } from '../../contract/webhook.ts'
import { defined } from '../../contract/defined.ts'
import type { JsonObject } from '../../contract/json.ts'
import { type CardMessage, chatCard, chatText } from '../../events/chat.ts'
import { type ChatFormat, type Destination, isChat, isChatApp, subscribesTo } from '../../domain/webhook.ts'
import type { Guard, Write } from '../../store/store.ts'
import type { Deps, Enqueued } from '../core/deps.ts'
import { callKey, isoTime } from '../core/event-record.ts'
import { hideSensitive, newTagKey } from '../thread/mask-sensitive.ts'
import type { KnownDestinations } from '../core/caches.ts'
import { type DeliveryRecord, put, read, revisionId, unchanged } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import { shownHeading } from '../thread/heading.ts'
import type { MakeNotice, Notice } from '../core/notice.ts'

/*
 * The outbox (docs/webhooks.md): the commit of an event also writes its deliveries. Therefore no event is lost or
 * invented. Every such commit guards the cached list of destinations, so a new destination misses no event.
 */

export const DESTINATIONS = 'all'

/** Size of a commit's deliveries, in characters, above which the commit waits for room. */
const LARGE = 128 * 1024

async function destinationsNow(deps: Deps, tenant: string): Promise<KnownDestinations> {
  const record = await read(deps.store, tenant, 'destinations', DESTINATIONS)
  const fresh = { list: record?.value.destinations ?? [], record }
  deps.destinations.set(tenant, fresh)
  return fresh
}

const NOTHING: Enqueued = { guards: [], writes: [] }

/** The part of a commit that enqueues deliveries for the tenant's destinations. */
export async function enqueue(deps: Deps, tenant: string, notices: readonly MakeNotice[]): Promise<Enqueued> {
  if (notices.length === 0) return NOTHING
  const known = deps.destinations.get(tenant) ?? (await destinationsNow(deps, tenant))
  if (known.list.length === 0) return { guards: guardsOf(known), writes: [] }
  const hasApp = known.list.some(({ format }) => isChatApp(format))
  const made = notices.map((make) => make())
  const heard = hasApp ? made : made.filter(({ quiet }) => quiet !== true)
  if (heard.length === 0) return { guards: guardsOf(known), writes: [] }
  const shown = heard.map((notice) => asShown(deps, notice))
  const addressed = await Promise.all(
    shown.map((notice) => address(deps, tenant, { notice, list: known.list })),
  )
  const size = addressed.reduce(
    (sum, { destinations, texts }) => sum + destinations.length * texts.full.length,
    0,
  )
  if (size <= LARGE) return { guards: guardsOf(known), writes: await written(deps, tenant, addressed) }
  const leave = await deps.outboxRoom.acquire(size)
  try {
    return { guards: guardsOf(known), leave, writes: await written(deps, tenant, addressed, nextTurn) }
  } catch (error) {
    leave()
    throw error
  }
}

/**
 * The heading is the stored heading of the thread. The notice masks the values that the policy in force marks as
 * sensitive.
 */
function asShown(deps: Deps, notice: Notice): Notice {
  const { tool_name, heading } = notice.body
  if (tool_name === undefined || heading === undefined) return notice
  const shown = shownHeading(deps.policies.current(), tool_name, heading)
  return { ...notice, body: { ...notice.body, heading: shown } }
}

/** @param between awaited after each delivery, because large texts must not block the event loop */
async function written(
  deps: Deps,
  tenant: string,
  addressed: readonly Addressed[],
  between?: () => Promise<void>,
): Promise<readonly Write[]> {
  const writes: Write[] = []
  for (const { notice, destinations, texts } of addressed)
    for (const destination of destinations) {
      writes.push(...deliveryWrites(deliveryOf(deps, tenant, { notice, destination, texts })))
      if (between !== undefined) await between()
    }
  return writes
}

const guardsOf = (known: KnownDestinations): Guard[] => [
  unchanged('destinations', DESTINATIONS, known.record),
]

/** Enqueues one delivery for one destination, regardless of its subscribed events. */
export async function enqueueOne(
  deps: Deps,
  tenant: string,
  { notice, destination }: { readonly notice: Notice; readonly destination: Destination },
): Promise<Pick<Enqueued, 'guards' | 'writes'>> {
  const known = deps.destinations.get(tenant) ?? (await destinationsNow(deps, tenant))
  const texts = await textsOf(deps, tenant, { notice, destinations: [destination] })
  return {
    guards: guardsOf(known),
    writes: deliveryWrites(deliveryOf(deps, tenant, { notice, destination, texts })),
  }
}

/** The text that the deliveries of a notice share, created once because a payload may be large. */
interface Texts {
  readonly thin: string
  /** Empty when no destination receives the payload. */
  readonly full: string
}

interface Addressed {
  readonly notice: Notice
  readonly destinations: readonly Destination[]
  readonly texts: Texts
}

async function address(
  deps: Deps,
  tenant: string,
  { notice, list }: { readonly notice: Notice; readonly list: readonly Destination[] },
): Promise<Addressed> {
  const isFor = (one: Destination): boolean => {
    if (isChatApp(one.format)) return notice.body.thread_id !== undefined
    return notice.quiet === undefined && (notice.repeat === undefined || !isChat(one.format))
  }
  const destinations = list.filter((one) => subscribesTo(one, notice.body.type) && isFor(one))
  return { notice, destinations, texts: await textsOf(deps, tenant, { notice, destinations }) }
}

async function textsOf(
  deps: Deps,
  tenant: string,
  { notice, destinations }: Omit<Addressed, 'texts'>,
): Promise<Texts> {
  const { heading, ...body } = notice.body
  const common = { timestamp: isoTime(notice.at), ...body }
  const thin = JSON.stringify(common)
  if (!destinations.some(getsPayload)) return { thin, full: '' }
  const payload = await payloadOf(deps, tenant, notice)
  return { thin, full: JSON.stringify({ ...common, ...defined({ heading, payload }) }) }
}

const getsPayload = ({ format, payload }: Destination): boolean => payload === 'full' && !isChat(format)

function deliveryOf(
  deps: Deps,
  tenant: string,
  { notice, destination, texts }: Omit<Addressed, 'destinations'> & { readonly destination: Destination },
): NewDelivery {
  const id = `whd_${tenant}_${deps.nextId()}`
  const { body, trace } = notice
  const { format } = destination
  if (isChatApp(format)) return { id, record: redrawOf(deps, destination.id, body, trace) }
  const text = getsPayload(destination) ? texts.full : texts.thin
  const record: DeliveryRecord = {
    destination: destination.id,
    type: body.type,
    ...defined({ agent_id: body.agent_id, task_id: body.task_id, thread_id: body.thread_id }),
    ...(body.thread_id === undefined && body.agent_id !== undefined
      ? { call: callKey(isoTime(notice.at), body.agent_id, body.task_id) }
      : {}),
    body: isChat(format)
      ? JSON.stringify(chatBody(deps, body, format))
      : `{"id":${JSON.stringify(id)},${text.slice(1)}`,
    created_at: deps.store.now(),
    state: 'waiting',
    attempts: 0,
    ...defined({ trace }),
  }
  return { id, record }
}

/** A delivery to an app. It holds nothing of the call: the message is drawn when it is sent. */
const redrawOf = (
  deps: Deps,
  destination: string,
  { type, thread_id }: Pick<Notice['body'], 'type' | 'thread_id'>,
  trace?: Notice['trace'],
): DeliveryRecord => ({
  destination,
  type,
  ...defined({ thread_id, trace }),
  body: '',
  created_at: deps.store.now(),
  state: 'waiting',
  attempts: 0,
})

/** The writes by which the messages about a deleted thread lose its data. */
export async function redrawDeleted(deps: Deps, tenant: string, thread_id: string): Promise<Write[]> {
  const index = INDEX.posted(thread_id)
  const entries = await deps.store.range(tenant, index, { limit: MOST_MESSAGES })
  const posted = await Promise.all(entries.map(({ member }) => read(deps.store, tenant, 'posted', member)))
  return posted.flatMap((one) => {
    if (one === undefined) return []
    const id = `whd_${tenant}_${deps.nextId()}`
    const body = { type: 'review.pending', thread_id } as const
    return deliveryWrites({ id, record: redrawOf(deps, one.value.destination, body) })
  })
}

/** More than a tenant has webhooks. */
const MOST_MESSAGES = 100

function chatBody(deps: Deps, body: Notice['body'], format: ChatFormat): WebhookChatBody | CardMessage {
  const { thread_id } = body
  const link = thread_id === undefined ? undefined : deps.threadUrl(thread_id)
  return format === 'teams' ? chatCard(body, link) : { text: chatText(body, link) }
}

interface NewDelivery {
  readonly id: string
  readonly record: DeliveryRecord
}

function deliveryWrites({ id, record }: NewDelivery): Write[] {
  return [
    put('delivery', id, record),
    { op: 'index', index: INDEX.outbox(record.destination), member: id, to: record.created_at },
    { op: 'index', index: INDEX.deliveries(record.destination), member: id, to: record.created_at },
  ]
}

/** The payload with masked values. The payload of a thread is masked as in the console. */
async function payloadOf(deps: Deps, tenant: string, notice: Notice): Promise<JsonObject | undefined> {
  const { tool_name } = notice.body
  const payload = notice.payload ?? (await proposedPayload(deps, tenant, notice.body))
  if (payload === undefined || tool_name === undefined) return undefined
  return hideSensitive(deps, notice.tag_key ?? newTagKey(deps), { tool: tool_name, payload }).payload
}

async function proposedPayload(
  deps: Deps,
  tenant: string,
  { thread_id, revision }: Notice['body'],
): Promise<JsonObject | undefined> {
  if (thread_id === undefined || revision === undefined) return undefined
  return (await read(deps.store, tenant, 'revision', revisionId(thread_id, revision)))?.value.payload
}
