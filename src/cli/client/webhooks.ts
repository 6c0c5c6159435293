import { parseArgs } from 'node:util'
import { defined } from '../../contract/defined.ts'
import type {
  CreateWebhook,
  DeliveriesQuery,
  DeliveryList,
  RedeliverRange,
  WebhookView,
} from '../../contract/webhook.ts'
import { isChat } from '../../domain/webhook.ts'
import { type Api, createApi } from './api-client.ts'
import { reachAsAdmin } from './credentials.ts'
import { refuseMore, refuseOptions, usage, wholeNumber } from '../terminal/failure.ts'
import { UNREADABLE } from './print-thread.ts'
import { jsonOf, visible } from '../terminal/visible-text.ts'

export const WEBHOOKS_USAGE = `countersign webhooks <command>

  create TENANT URL        [--event TYPE ...] [--payload full]   print the secret, once
  create TENANT URL        --format chat|teams [--event TYPE ...]   post waiting calls to a chat, or to Microsoft Teams
  list TENANT
  show ID
  rotate ID                [--overlap-ms N]   make a new secret; for a day the old one signs too
  pause ID | resume ID | ping ID | delete ID
  deliveries ID            [--state waiting|delivered|dead]
  redeliver ID DELIVERY
  redeliver ID --since TIME [--until TIME] [--state dead]

  --url URL   the gateway (COUNTERSIGN_URL)
  --json      print the API's answer

Needs COUNTERSIGN_ADMIN_KEY, or COUNTERSIGN_ADMIN_KEY_FILE.`

const OPTIONS = {
  url: { type: 'string' },
  json: { type: 'boolean', default: false },
  event: { type: 'string', multiple: true },
  payload: { type: 'string' },
  format: { type: 'string' },
  'overlap-ms': { type: 'string' },
  state: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
} as const

type Values = ReturnType<typeof read>['values']

function read(args: readonly string[]) {
  return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, tokens: true })
}

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

const COMMANDS: Readonly<
  Record<
    string,
    {
      readonly names: number
      /** Maximum number of arguments. */
      readonly more?: number
      readonly takes?: readonly string[]
      readonly run: (asked: Asked) => Promise<Answer>
    }
  >
> = {
  create: { names: 2, takes: ['event', 'payload', 'format'], run: create },
  list: { names: 1, run: list },
  show: { names: 1, run: (asked) => view(asked.api.show_webhook(of(asked))) },
  rotate: { names: 1, takes: ['overlap-ms'], run: rotate },
  pause: { names: 1, run: (asked) => view(asked.api.pause_webhook(of(asked))) },
  resume: { names: 1, run: (asked) => view(asked.api.resume_webhook(of(asked))) },
  ping: { names: 1, run: (asked) => view(asked.api.ping_webhook(of(asked))) },
  delete: { names: 1, run: remove },
  deliveries: { names: 1, takes: ['state'], run: deliveries },
  redeliver: { names: 1, more: 2, takes: ['since', 'until', 'state'], run: redeliver },
}

export async function webhooks(args: readonly string[]): Promise<void> {
  const { values, positionals, tokens } = read(args)
  const [name = '', ...named] = positionals
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (command === undefined || named.length < command.names)
    throw usage('name a command and a webhook', WEBHOOKS_USAGE)
  // refuses further arguments, because a second webhook would not be deleted
  refuseMore(named, command.more ?? command.names, WEBHOOKS_USAGE)
  refuseOptions(tokens, command.takes ?? [], WEBHOOKS_USAGE)
  const reach = reachAsAdmin(values.url)
  const { json, text } = await command.run({ api: createApi(reach.url, reach.key), values, named })
  console.log(values.json ? jsonOf(json) : visible(text))
}

const of = ({ named: [id = ''] }: Asked) => ({ params: { id } })

async function create({ api, values, named: [tenant, url] }: Asked): Promise<Answer> {
  const { event: events, payload, format } = values
  // the gateway refuses unknown words and gives a reason
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
      throw usage('name a delivery, or a time with --since, not both', WEBHOOKS_USAGE)
    await api.redeliver({ params: { ...params, delivery } })
    return { json: { count: 1 }, text: 'to be delivered again' }
  }
  const { since, until, state } = values
  if (since === undefined) throw usage('name a delivery, or a time with --since', WEBHOOKS_USAGE)
  const body = { since, ...(until && { until }), ...(state && { state }) } as RedeliverRange
  const json = await api.redeliver_range({ params, body, timeoutMs: REDELIVERY_MS })
  return { json, text: `${json.count} to be delivered again` }
}
