import { defined } from '../../contract/defined.ts'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import type {
  CreateWebhook,
  RotateSecret,
  WebhookList,
  WebhookSecret,
  WebhookView,
} from '../../contract/webhook.ts'
import { WEBHOOK_ID } from '../../domain/id.ts'
import { type ChatAppFormat, type Destination, isChat, isChatApp, shownUrl } from '../../domain/webhook.ts'
import type { Write } from '../../store/store.ts'
import { type Administrator, adminGuards } from '../auth/administrator.ts'
import type { Deps } from '../core/deps.ts'
import { type Happened, isoTime, record } from '../core/event-record.ts'
import { requireDirectory } from '../core/readiness.ts'
import { DESTINATIONS } from './outbox.ts'
import { purgeAt } from '../core/expiry-index.ts'
import { put, read, SYSTEM, unchanged, type Versioned } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import { registerTenant } from '../core/tenants.ts'
import { type Plan, storeCall, transact } from '../core/transact.ts'

/**
 * Destinations of webhooks, and the changes that administrators make to them (docs/webhooks.md). Each change is
 * recorded in the tenant's evidence.
 */

/** Creates a secret from random bytes. The module of signatures defines its form. */
export type ComposeSecret = (bytes: Uint8Array) => string

const SECRET_BYTES = 32
const ROTATION_MS = 24 * 3_600_000

export interface Acting extends Administrator {
  readonly tenant: string
}

/**
 * Creates a destination. The caller must have checked the URL.
 * @throws GatewayError `invalid_request`, `not_found` (no such tenant), `not_ready`, `too_many_webhooks`,
 * `store_unavailable`, `outcome_unknown`
 */
export async function createDestination(
  deps: Deps,
  acting: Acting,
  request: CreateWebhook,
  composeSecret: ComposeSecret,
): Promise<WebhookSecret> {
  const { tenant } = acting
  const wishes = wishesOf(request)
  if (!requireDirectory(deps.policies.current()).tenants.has(tenant))
    throw new GatewayError('not_found', `directory.yaml lists no tenant \`${tenant}\``)
  await registerTenant(deps, tenant)
  await transact(deps, SYSTEM, () =>
    Promise.resolve({
      answer: undefined,
      writes: [{ op: 'index', index: INDEX.webhookTenants, member: tenant, to: 0 } as const],
    }),
  )
  const { answer } = await change(deps, acting, (list) => {
    if (list.length >= LIMITS.WEBHOOKS)
      throw new GatewayError(
        'too_many_webhooks',
        `a tenant may have at most ${LIMITS.WEBHOOKS} webhooks: delete one`,
      )
    const secret = composeSecret(deps.random(SECRET_BYTES))
    const created: Destination = {
      id: `whk_${tenant}_${deps.nextId()}`,
      ...wishes,
      payload: request.payload ?? 'thin',
      secrets: [{ secret }],
      created_at: deps.store.now(),
    }
    return {
      answer: { id: created.id, secret },
      list: [...list, created],
      event: {
        type: 'webhook.created',
        details: {
          id: created.id,
          url: shownUrl(created),
          payload: created.payload,
          format: formatOf(created),
        },
      },
    }
  })
  return answer
}

/** The default events of a chat destination: a call that waits, and how its wait ended. */
const OF_PEOPLE = [
  'review.pending',
  'review.reminded',
  'review.escalated',
  'review.approved',
  'review.rejected',
  'review.changes_requested',
  'review.expired',
  'review.withdrawn',
] as const

type Wishes = Pick<Destination, 'url' | 'events' | 'format' | 'channel' | 'only'>

function wishesOf(request: CreateWebhook): Wishes {
  const { url, events, format, payload, channel, only } = request
  if (isChatApp(format)) return wishesOfApp(request, format)
  if (channel !== undefined || only !== undefined)
    throw unfit('`channel` and `only` are for an app of a chat', '/format')
  if (url === undefined) throw unfit('a webhook needs a `url`', '/url')
  if (!isChat(format)) return events === undefined ? { url } : { url, events }
  if (payload === 'full') {
    const errors = [{ pointer: '/payload', message: 'no payload is sent to a chat' }]
    throw new GatewayError('invalid_request', 'a chat receives no payload: omit `payload: full`', { errors })
  }
  return { url, events: events ?? OF_PEOPLE, format }
}

function wishesOfApp(request: CreateWebhook, format: ChatAppFormat): Wishes {
  const { url, events, payload, channel, only } = request
  if (channel === undefined || url !== undefined || events !== undefined || payload === 'full')
    throw unfit('an app needs a `channel`, and has no `url`, no `events` and no `payload: full`', '/channel')
  return { url: `${format}:${channel}`, format, channel, ...(only === undefined ? {} : { only }) }
}

const unfit = (message: string, pointer: string): GatewayError =>
  new GatewayError('invalid_request', message, { errors: [{ pointer, message }] })

const formatOf = ({ format }: Destination): WebhookView['format'] => format ?? 'event'

export async function listDestinations(deps: Deps, tenant: string): Promise<WebhookList> {
  const list = await destinations(deps, tenant)
  return { webhooks: await Promise.all(list.map((one) => viewOf(deps, tenant, one))) }
}

/** @throws GatewayError `not_found` */
export async function showDestination(deps: Deps, tenant: string, id: string): Promise<WebhookView> {
  return viewOf(deps, tenant, await destination(deps, tenant, id))
}

/** @throws GatewayError `not_found` */
export async function destination(deps: Deps, tenant: string, id: string): Promise<Destination> {
  const found = (await destinations(deps, tenant)).find((one) => one.id === id)
  if (found === undefined) throw noSuchWebhook()
  return found
}

export async function destinations(deps: Deps, tenant: string): Promise<readonly Destination[]> {
  const record = await storeCall(() => read(deps.store, tenant, 'destinations', DESTINATIONS))
  return record?.value.destinations ?? []
}

/** Issues a new secret. The old secret also signs until the overlap ends. @throws GatewayError `not_found` */
export async function rotateSecret(
  deps: Deps,
  acting: Acting & { readonly id: string },
  { overlap_ms = ROTATION_MS }: RotateSecret,
  composeSecret: ComposeSecret,
): Promise<WebhookSecret> {
  const { answer } = await changeOne(deps, acting, (one) => {
    const secret = composeSecret(deps.random(SECRET_BYTES))
    const [before] = one.secrets
    const until = deps.store.now() + overlap_ms
    const kept = before === undefined || overlap_ms === 0 ? [] : [{ secret: before.secret, until }]
    return {
      answer: { id: one.id, secret },
      after: { ...one, secrets: [{ secret }, ...kept] },
      event: { type: 'webhook.secret_rotated', details: { id: one.id, overlap_ms } },
    }
  })
  return answer
}

/**
 * Pauses a destination, whose deliveries then wait. A destination that answered 410 remains paused as gone.
 *
 * @throws GatewayError `not_found`
 */
export async function pauseDestination(deps: Deps, acting: Acting & { readonly id: string }): Promise<void> {
  await changeOne(deps, acting, (one) => ({
    answer: undefined,
    after:
      one.paused?.reason === 'gone' ? one : { ...one, paused: { at: deps.store.now(), reason: 'admin' } },
    event: { type: 'webhook.paused', details: { id: one.id, reason: 'admin' } },
  }))
}

/** Resumes deliveries, and resets the destination's health. @throws GatewayError `not_found` */
export async function resumeDestination(deps: Deps, acting: Acting & { readonly id: string }): Promise<void> {
  await changeOne(deps, acting, (one) => ({
    answer: undefined,
    after: resumed(one),
    event: { type: 'webhook.resumed', details: { id: one.id } },
  }))
  deps.enqueued(acting.tenant)
}

function resumed({ paused: _paused, failing_since: _failing, ...working }: Destination): Destination {
  return working
}

/** Deletes a destination with its waiting deliveries. @throws GatewayError `not_found` */
export async function deleteDestination(deps: Deps, acting: Acting & { readonly id: string }): Promise<void> {
  await change(deps, acting, (list) => {
    const kept = list.filter((one) => one.id !== acting.id)
    if (kept.length === list.length) throw noSuchWebhook()
    return {
      answer: undefined,
      list: kept,
      event: { type: 'webhook.deleted', details: { id: acting.id } },
      writes: [purgeAt('webhook', acting.id, deps.store.now())],
    }
  })
}

export const noSuchWebhook = (): GatewayError => new GatewayError('not_found', 'no such webhook')

/** The tenant in an id of a webhook; undefined for an id that the gateway did not issue. */
export function tenantOfWebhook(id: string): string | undefined {
  return WEBHOOK_ID.exec(id)?.[1]
}

async function viewOf(deps: Deps, tenant: string, one: Destination): Promise<WebhookView> {
  const { id, events, payload, created_at, paused, failing_since } = one
  const now = deps.store.now()
  return {
    id,
    tenant,
    url: shownUrl(one),
    payload,
    format: formatOf(one),
    created_at: isoTime(created_at),
    secrets: one.secrets.filter(({ until = Infinity }) => now < until).length,
    state: paused === undefined ? 'active' : paused.reason === 'admin' ? 'paused' : paused.reason,
    ...defined({
      events: events && ([...events] as NonNullable<WebhookView['events']>),
      failing_since: failing_since === undefined ? undefined : isoTime(failing_since),
    }),
    waiting: await storeCall(() => deps.store.count(tenant, INDEX.outbox(id))),
  }
}

type ChangeType = `webhook.${'created' | 'secret_rotated' | 'paused' | 'resumed' | 'deleted'}`

interface Changed<T> {
  readonly answer: T
  readonly list: readonly Destination[]
  readonly event: Happened<ChangeType>
  /** Further writes of the same commit. */
  readonly writes?: readonly Write[]
}

function change<T>(
  deps: Deps,
  acting: Acting,
  decide: (list: readonly Destination[]) => Changed<T>,
): Promise<{ readonly answer: T }> {
  const { tenant, actor } = acting
  return transact(deps, tenant, async (): Promise<Plan<T>> => {
    const proof = await adminGuards(deps, acting)
    const known = await read(deps.store, tenant, 'destinations', DESTINATIONS)
    const { answer, list, event, writes = [] } = decide(known?.value.destinations ?? [])
    const replaced = replaceDestinations(deps, tenant, { known, list })
    return {
      answer,
      ...replaced,
      guards: [...replaced.guards, ...proof],
      writes: [...replaced.writes, ...writes],
      evidence: [record(deps.store.now(), actor, { tenant }, event)],
    }
  })
}

function changeOne<T>(
  deps: Deps,
  acting: Acting & { readonly id: string },
  decide: (one: Destination) => {
    readonly answer: T
    readonly after: Destination
    readonly event: Happened<ChangeType>
  },
): Promise<{ readonly answer: T }> {
  const { id } = acting
  return change(deps, acting, (list) => {
    const one = list.find((other) => other.id === id)
    if (one === undefined) throw noSuchWebhook()
    const { answer, after, event } = decide(one)
    const next = list.map((other) => (other.id === id ? after : other))
    return { answer, list: next, event }
  })
}

/** The part of a plan that replaces the list. Once the plan is durable, the cached list is dropped. */
export function replaceDestinations(
  deps: Deps,
  tenant: string,
  {
    known,
    list,
  }: {
    readonly known: Versioned<unknown> | undefined
    readonly list: readonly Destination[]
  },
): Required<Pick<Plan<unknown>, 'guards' | 'writes' | 'landed'>> {
  return {
    guards: [unchanged('destinations', DESTINATIONS, known)],
    writes: [put('destinations', DESTINATIONS, { destinations: list })],
    landed: () => void deps.destinations.delete(tenant),
  }
}
