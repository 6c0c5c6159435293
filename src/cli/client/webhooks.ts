import { defined } from '../../contract/defined.ts'
import type {
  CreateWebhook,
  DeliveriesQuery,
  DeliveryList,
  RedeliverRange,
  WebhookEvent,
  WebhookView,
} from '../../contract/webhook.ts'
import { isChat } from '../../domain/webhook.ts'
import { type Api, createApi } from './api-client.ts'
import { API_FLAGS, NEEDS_ADMIN_KEY, reachAsAdmin } from './credentials.ts'
import { command } from '../terminal/command.ts'
import { usage, wholeNumber } from '../terminal/failure.ts'
import { type Asked as Read, parse } from '../terminal/parse.ts'
import { UNREADABLE } from './print-thread.ts'
import { usageOf } from '../terminal/usage.ts'
import { jsonOf, visible } from '../terminal/visible-text.ts'

const EVENTS = [
  'decision.allowed',
  'decision.rejected',
  'review.pending',
  'review.changes_requested',
  'review.approved',
  'review.rejected',
  'review.expired',
  'review.withdrawn',
  'review.reminded',
  'review.escalated',
  'token.redeemed',
  'webhook.ping',
] as const satisfies readonly WebhookEvent[]

const ONE = { operands: 'ID' } as const

export const WEBHOOKS = command({
  name: 'webhooks',
  says: 'Manages destinations of webhooks.',
  subcommands: {
    create: {
      operands: 'TENANT URL',
      flags: ['event', 'payload', 'format'],
      says: 'Creates a destination, and prints its secret, once. A chat has no secret.',
    },
    list: { operands: 'TENANT' },
    show: ONE,
    rotate: { ...ONE, flags: ['overlap-ms'], says: 'Makes a new secret. For a day, the old one signs too.' },
    pause: { ...ONE, says: 'Keeps deliveries until `resume`.' },
    resume: ONE,
    ping: { ...ONE, says: 'Sends the event webhook.ping.' },
    delete: { ...ONE, says: 'Deletes a destination, with its waiting deliveries.' },
    deliveries: { ...ONE, flags: ['state'], says: 'Lists deliveries.' },
    redeliver: {
      operands: 'ID [DELIVERY]',
      flags: ['since', 'until', 'state'],
      says: 'Sends one delivery again, or all since a time; with --state dead, only those that failed.',
    },
  },
  flags: {
    event: { takes: 'TYPE', values: EVENTS, many: true, says: 'only these events' },
    payload: { values: ['thin', 'full'], says: 'full: deliveries carry the payload of the call' },
    format: {
      values: ['event', 'chat', 'teams'],
      says: 'chat, teams: post waiting calls to a chat, or to Microsoft Teams',
    },
    'overlap-ms': { takes: 'N', says: 'time in which the old secret still signs, ms' },
    state: { values: ['waiting', 'delivered', 'dead'], says: 'only deliveries in this state' },
    since: { takes: 'TIME', says: 'the first time, in RFC 3339 format' },
    until: { takes: 'TIME', says: 'the last time, in RFC 3339 format' },
    ...API_FLAGS,
  },
  notes: NEEDS_ADMIN_KEY,
})

type Values = Read<typeof WEBHOOKS>['values']

interface Asked {
  readonly api: Api
  readonly values: Values
  /** The arguments after the command. */
  readonly named: readonly string[]
}

/** The answer of a command, as JSON for programs and as text for people. */
interface Answer {
  readonly json: unknown
  readonly text: string
}

const RUN: Readonly<Record<keyof typeof WEBHOOKS.subcommands, (asked: Asked) => Promise<Answer>>> = {
  create,
  list,
  show: (asked) => view(asked.api.show_webhook(of(asked))),
  rotate,
  pause: (asked) => view(asked.api.pause_webhook(of(asked))),
  resume: (asked) => view(asked.api.resume_webhook(of(asked))),
  ping: (asked) => view(asked.api.ping_webhook(of(asked))),
  delete: remove,
  deliveries,
  redeliver,
}

export async function webhooks(args: readonly string[]): Promise<void> {
  const { values, subcommand, operands: named } = parse(WEBHOOKS, args)
  const reach = reachAsAdmin(values.url)
  const { json, text } = await RUN[subcommand]({ api: createApi(reach.url, reach.key), values, named })
  console.log(values.json ? jsonOf(json) : visible(text))
}

const of = ({ named: [id = ''] }: Asked) => ({ params: { id } })

async function create({ api, values, named: [tenant, url] }: Asked): Promise<Answer> {
  const { event, payload, format } = values
  const events = event.length === 0 ? undefined : event
  const body = { tenant, url, ...defined({ events, payload, format }) } as CreateWebhook
  const json = await api.create_webhook({ body })
  // chats do not check signatures
  const secret = isChat(format) ? '' : `\n${json.secret}   the secret, shown once`
  return { json, text: `${json.id}${secret}` }
}

async function list({ api, named: [tenant = ''] }: Asked): Promise<Answer> {
  const json = await api.list_webhooks({ query: { tenant } })
  return { json, text: json.webhooks.map(lineOf).join('\n') || 'no webhooks' }
}

async function view(asked: Promise<WebhookView>): Promise<Answer> {
  const json = await asked
  return { json, text: lineOf(json) }
}

const FORMS: Readonly<Record<WebhookView['format'], string>> = {
  event: '',
  chat: '  as text for a chat',
  teams: '  as a card for Teams',
}

function lineOf({ id, url, state, waiting, events, format, failing_since }: WebhookView): string {
  const failing = failing_since === undefined ? '' : `, failing since ${failing_since}`
  return `${id}  ${state}${failing}  ${waiting} waiting  ${url}  ${events?.join(' ') ?? 'all events'}${FORMS[format]}`
}

async function rotate(asked: Asked): Promise<Answer> {
  const { api, values } = asked
  const overlap = values['overlap-ms']
  const body = overlap === undefined ? {} : { overlap_ms: wholeNumber(overlap, '--overlap-ms') }
  const json = await api.rotate_webhook_secret({ ...of(asked), body })
  return { json, text: `${json.secret}   the new secret, shown once` }
}

async function remove(asked: Asked): Promise<Answer> {
  const { params } = of(asked)
  await asked.api.delete_webhook({ params })
  return { json: {}, text: `${params.id} is deleted, with its waiting deliveries` }
}

async function deliveries(asked: Asked): Promise<Answer> {
  const json = await pagesOf(asked)
  const lines = json.deliveries.map(
    (one) =>
      `${one.id}  ${one.state}  ${one.attempts} tries  ${one.last?.result ?? ''}  ${one.type}  ${one.thread_id ?? ''}${one.next_at === undefined ? '' : `  next ${one.next_at}`}`,
  )
  lines.push(...(json.unreadable ?? []).map((id) => `${id}  ${UNREADABLE}`))
  const none = json.next_cursor === undefined ? ['no deliveries'] : []
  const more = json.next_cursor === undefined ? [] : ['(older ones are in the console)']
  return { json, text: [...(lines.length > 0 ? lines : none), ...more].join('\n') }
}

const PAGE = 100
/**
 * Maximum number of pages to print. People do not read more in a terminal, and programs use `next_cursor`. With a
 * filter by state, a page may be empty.
 */
const MOST_PAGES = 10

async function pagesOf(asked: Asked): Promise<DeliveryList> {
  const { state } = asked.values
  const all: DeliveryList['deliveries'] = []
  const unreadable: string[] = []
  const answer = (): DeliveryList => ({ deliveries: all, ...(unreadable.length === 0 ? {} : { unreadable }) })
  let next_cursor: string | undefined
  for (let page = 0; page < MOST_PAGES; page++) {
    const query = { limit: String(PAGE), ...defined({ state, cursor: next_cursor }) } as DeliveriesQuery
    const found = await asked.api.list_deliveries({ ...of(asked), query })
    all.push(...found.deliveries)
    unreadable.push(...(found.unreadable ?? []))
    next_cursor = found.next_cursor
    if (next_cursor === undefined) return answer()
  }
  return { ...answer(), ...(next_cursor === undefined ? {} : { next_cursor }) }
}

/**
 * Time limit, in ms, which is enough for hundreds of thousands of deliveries. The gateway closes connections that are
 * silent for longer.
 */
const REDELIVERY_MS = 60_000

async function redeliver(asked: Asked): Promise<Answer> {
  const { api, values, named } = asked
  const { params } = of(asked)
  const [, delivery] = named
  if (delivery !== undefined) {
    if (values.since ?? values.until ?? values.state)
      throw usage('name a delivery, or a time with --since, not both', usageOf(WEBHOOKS, 'redeliver'))
    await api.redeliver({ params: { ...params, delivery } })
    return { json: { count: 1 }, text: 'to be delivered again' }
  }
  const { since, until, state } = values
  if (since === undefined)
    throw usage('name a delivery, or a time with --since', usageOf(WEBHOOKS, 'redeliver'))
  const body = { since, ...(until && { until }), ...(state && { state }) } as RedeliverRange
  const json = await api.redeliver_range({ params, body, timeoutMs: REDELIVERY_MS })
  return { json, text: `${json.count} to be delivered again` }
}
