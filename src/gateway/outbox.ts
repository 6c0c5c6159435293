import type { WebhookBody, WebhookChatBody } from '../contract/webhook.ts'
import { defined } from '../contract/defined.ts'
import type { JsonObject } from '../contract/json.ts'
import { type CardMessage, chatCard, chatText } from '../domain/chat.ts'
import { type ChatFormat, type Destination, isChat, isToldOf, type ThreadEvent } from '../domain/webhook.ts'
import { groupsBy } from '../domain/quorum.ts'
import type { Thread } from '../domain/thread.ts'
import type { Guard, Write } from '../store/store.ts'
import type { Leased } from './deliverer.ts'
import type { Deps } from './deps.ts'
import { isoTime } from './evidence.ts'
import { hideSensitive } from './hide.ts'
import type { KnownDestinations } from './known.ts'
import { type TraceContext, traceOf } from './origin.ts'
import { type DeliveryRecord, INDEX, put, read, revisionId, unchanged } from './records.ts'

/*
 * The outbox (design.md section 7): what destinations are told is written in the commit that it tells of, so nothing is lost and nothing is told that did
 * not happen. The list of destinations is kept in memory and guarded by every such commit: who was just registered misses nothing.
 */

/** Something that happened, before anybody is told. */
export interface Notice {
  readonly body: Omit<WebhookBody, 'id' | 'timestamp' | 'payload'>
  /** ms since 1970. */
  readonly at: number
  /** What was proposed, where the thread's record does not have it yet. */
  readonly payload?: JsonObject
  /** What the delivery refers to. */
  readonly trace?: TraceContext | undefined
}

export function threadNotice(
  type: ThreadEvent,
  thread: Thread,
  {
    at,
    sequence,
    payload,
  }: { readonly at: number; readonly sequence: number; readonly payload?: JsonObject },
): Notice {
  return {
    at,
    trace: traceOf(thread),
    body: {
      type,
      tenant_id: thread.tenant,
      agent_id: thread.agent,
      tool_name: thread.tool,
      task_id: thread.task_id,
      thread_id: thread.thread_id,
      decision: thread.status,
      ...(thread.message === '' ? {} : { message: thread.message }),
      ...defined({ workflow_name: thread.workflow, task_label: thread.label }),
      revision: thread.revision,
      risk: thread.risk,
      ...(thread.status === 'pending_review'
        ? { groups: groupsBy(thread.requirement, at - thread.submitted_at) }
        : {}),
      sequence,
    },
    ...(payload === undefined ? {} : { payload }),
  }
}

export const DESTINATIONS = 'all'

async function destinationsOf(deps: Deps, tenant: string): Promise<KnownDestinations> {
  const known = deps.destinations.get(tenant)
  if (known !== undefined) return known
  const record = await read(deps.store, tenant, 'destinations', DESTINATIONS)
  const fresh = { list: record?.value.destinations ?? [], record }
  deps.destinations.set(tenant, fresh)
  return fresh
}

export interface Enqueued {
  readonly guards: readonly Guard[]
  readonly writes: readonly Write[]
  readonly leased: readonly Leased[]
  /** Some are for whoever finds them. */
  readonly waiting: boolean
}

const NOTHING: Enqueued = { guards: [], writes: [], leased: [], waiting: false }

/** The part of a commit that tells the tenant's destinations of what it does. No promise where nobody has to be asked: most calls are allowed. */
export function enqueue(
  deps: Deps,
  tenant: string,
  notices: readonly Notice[],
): Enqueued | Promise<Enqueued> {
  if (notices.length === 0) return NOTHING
  const known = deps.destinations.get(tenant)
  if (known?.list.length === 0) return { ...NOTHING, guards: guardsOf(known) }
  return enqueueFor(deps, tenant, notices)
}

async function enqueueFor(deps: Deps, tenant: string, notices: readonly Notice[]): Promise<Enqueued> {
  const known = await destinationsOf(deps, tenant)
  const told = notices.flatMap((notice) =>
    known.list
      .filter((one) => isToldOf(one, notice.body.type))
      .map((destination) => ({ notice, destination })),
  )
  const unsent = await Promise.all(told.map((one) => deliveryOf(deps, tenant, one)))
  const leases = unsent.map(({ destination }) =>
    destination.paused === undefined ? deps.deliverer.lease(destination.id) : undefined,
  )
  return {
    guards: guardsOf(known),
    writes: unsent.flatMap((one, i) => deliveryWrites(one, leases[i])),
    leased: unsent.filter((_, i) => leases[i] !== undefined),
    waiting: leases.includes(undefined),
  }
}

const guardsOf = (known: KnownDestinations): Guard[] => [
  unchanged('destinations', DESTINATIONS, known.record),
]

/** One delivery that one destination is sent, whatever it wants to be told of. */
export async function enqueueOne(
  deps: Deps,
  tenant: string,
  one: { readonly notice: Notice; readonly destination: Destination },
): Promise<Pick<Enqueued, 'guards' | 'writes'>> {
  const known = await destinationsOf(deps, tenant)
  return { guards: guardsOf(known), writes: deliveryWrites(await deliveryOf(deps, tenant, one)) }
}

async function deliveryOf(
  deps: Deps,
  tenant: string,
  { notice, destination }: { readonly notice: Notice; readonly destination: Destination },
): Promise<Leased> {
  const id = `whd_${tenant}_${deps.nextId()}`
  const { body, trace } = notice
  const record: DeliveryRecord = {
    destination: destination.id,
    type: body.type,
    ...defined({ thread_id: body.thread_id }),
    body: JSON.stringify(
      isChat(destination.format)
        ? chatBody(deps, body, destination.format)
        : await eventBody(deps, tenant, { notice, destination, id }),
    ),
    created_at: deps.store.now(),
    state: 'waiting',
    attempts: 0,
    ...defined({ trace }),
  }
  return { tenant, destination, id, record }
}

async function eventBody(
  deps: Deps,
  tenant: string,
  {
    notice,
    destination,
    id,
  }: { readonly notice: Notice; readonly destination: Destination; readonly id: string },
): Promise<WebhookBody> {
  const payload = destination.payload === 'full' ? await payloadOf(deps, tenant, { notice, id }) : undefined
  return { id, timestamp: isoTime(notice.at), ...notice.body, ...defined({ payload }) }
}

function chatBody(deps: Deps, body: Notice['body'], format: ChatFormat): WebhookChatBody | CardMessage {
  const { thread_id } = body
  const link = thread_id === undefined ? undefined : deps.threadUrl(thread_id)
  return format === 'teams' ? chatCard(body, link) : { text: chatText(body, link) }
}

function deliveryWrites({ destination, id, record }: Leased, until = record.created_at): Write[] {
  return [
    put('delivery', id, record),
    { op: 'index', index: INDEX.outbox(destination.id), member: id, to: until },
    { op: 'index', index: INDEX.deliveries(destination.id), member: id, to: record.created_at },
  ]
}

/** What was proposed, its sensitive values hidden; those of a thread as the console hides them. */
async function payloadOf(
  deps: Deps,
  tenant: string,
  { notice, id }: { readonly notice: Notice; readonly id: string },
): Promise<JsonObject | undefined> {
  const { thread_id, tool_name } = notice.body
  const payload = notice.payload ?? (await proposedPayload(deps, tenant, notice.body))
  if (payload === undefined || tool_name === undefined) return undefined
  return hideSensitive(deps, thread_id ?? id, { tool: tool_name, payload }).payload
}

async function proposedPayload(
  deps: Deps,
  tenant: string,
  { thread_id, revision }: Notice['body'],
): Promise<JsonObject | undefined> {
  if (thread_id === undefined || revision === undefined) return undefined
  return (await read(deps.store, tenant, 'revision', revisionId(thread_id, revision)))?.value.payload
}
