import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import { type WebSocket, WebSocketServer } from 'ws'
import { problemOfMessage, problemOfView } from './slack-limits.ts'

/*
 * A server that speaks Slack's documented protocol: the methods of the Web API that Countersign calls, and Socket Mode.
 * It checks limits and fails on purpose. Slack's own clients judge it (test/chat/vendor.test.ts).
 */

type Json = Readonly<Record<string, unknown>>
type Args = Readonly<Record<string, string>>

export interface FakeMessage {
  readonly channel: string
  readonly ts: string
  readonly bot: string
  /** Every version, the newest last. */
  readonly versions: Json[]
}

export interface Sent {
  readonly method: string
  readonly args: Json
  readonly token: string
  readonly at: number
}

/** How the next call of a method fails. `silence`: no answer. */
export type Failing =
  | { readonly error: string }
  | { readonly status: number; readonly after?: number }
  | 'silence'

export interface Delivery {
  readonly id: string
  /** Resolves with the payload of the acknowledgement, or undefined when the connection ended without it. */
  readonly acknowledged: Promise<Json | undefined>
}

export interface Click {
  readonly member?: string
  readonly memberWorkspace?: string
  readonly channel?: string
  readonly ts?: string
  readonly act?: string
  readonly value?: string
  readonly app?: string
  readonly workspace?: string
  readonly bot?: string
  readonly envelope?: string
  readonly trigger?: string
  /** The connection: the newest without it. */
  readonly socket?: number
}

export const SLACK = {
  app: 'A0COUNTER1',
  bot: 'B0COUNTER1',
  workspace: 'T0WORK0001',
  channel: 'C0APPROVE1',
  member: 'U0MARA0001',
  appToken: 'xapp-1-A0COUNTER1-1-a',
  botToken: 'xoxb-1-a',
} as const

export type FakeSlack = Awaited<ReturnType<typeof startFakeSlack>>

export async function startFakeSlack({ port = 0, tls }: { port?: number; tls?: SecureContextOptions } = {}) {
  const messages = new Map<string, FakeMessage>()
  const members = new Map<string, Json>()
  const sent: Sent[] = []
  const ephemerals: Json[] = []
  const views: Json[] = []
  const failing = new Map<string, Failing[]>()
  const channels = new Set<string>([SLACK.channel])
  const scopes = { list: ['chat:write', 'users:read'] }
  const sockets = new Set<WebSocket>()
  const waiting = new Map<string, (payload: Json | undefined) => void>()
  const listeners = new Set<() => void>()
  let [count, most, linked, hello] = [0, 10, true, true]
  const next = (): number => (count += 1)
  const changed = (): void => listeners.forEach((listener) => listener())

  const member = (id: string, more: Json = {}): void =>
    void members.set(id, {
      id,
      team_id: SLACK.workspace,
      name: id.toLowerCase(),
      deleted: false,
      is_bot: false,
      is_restricted: false,
      is_ultra_restricted: false,
      ...more,
    })
  member(SLACK.member)

  const keep = (channel: string, args: Args): Json => {
    const problem = problemOfMessage(args)
    if (!channels.has(channel)) return { ok: false, error: 'channel_not_found' }
    return problem === undefined ? { ok: true } : { ok: false, error: problem }
  }
  const parsed = (args: Args): Json => ({
    ...args,
    ...(args['blocks'] && { blocks: JSON.parse(args['blocks']) as unknown }),
  })

  const METHODS: Readonly<Record<string, (args: Args) => Json>> = {
    'auth.test': () => ({ ok: true, team_id: SLACK.workspace, bot_id: SLACK.bot, user_id: 'U0BOT00001' }),
    'apps.connections.open': () =>
      linked
        ? { ok: true, url: `ws${secure}://127.0.0.1:${here()}/link/?ticket=${next()}&app_id=${SLACK.app}` }
        : { ok: false, error: 'not_allowed_token_type' },
    'chat.postMessage'(args) {
      const { channel = '' } = args
      const result = keep(channel, args)
      if (result['ok'] !== true) return result
      const ts = `1700000000.${String(next()).padStart(6, '0')}`
      messages.set(`${channel}:${ts}`, { channel, ts, bot: SLACK.bot, versions: [parsed(args)] })
      return { ok: true, channel, ts, message: { ...parsed(args), bot_id: SLACK.bot } }
    },
    'chat.update'(args) {
      const { channel = '', ts = '' } = args
      const message = messages.get(`${channel}:${ts}`)
      const result = keep(channel, args)
      if (result['ok'] !== true) return result
      if (message === undefined) return { ok: false, error: 'message_not_found' }
      message.versions.push(parsed(args))
      return { ok: true, channel, ts, text: args['text'] }
    },
    'chat.postEphemeral'(args) {
      const result = keep(args['channel'] ?? '', args)
      if (result['ok'] !== true) return result
      if (!members.has(args['user'] ?? '')) return { ok: false, error: 'user_not_in_channel' }
      ephemerals.push(parsed(args))
      return { ok: true, message_ts: `1700000001.${next()}` }
    },
    'views.open'(args) {
      const view = JSON.parse(args['view'] ?? '{}') as Json
      if (!/^\d+\.trigger$/.test(args['trigger_id'] ?? '')) return { ok: false, error: 'invalid_trigger' }
      const problem = problemOfView(view)
      if (problem !== undefined) return { ok: false, error: problem }
      views.push(view)
      return { ok: true, view: { ...view, id: `V${next()}` } }
    },
    'users.info'({ user = '' }) {
      const found = members.get(user)
      return found === undefined ? { ok: false, error: 'user_not_found' } : { ok: true, user: found }
    },
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const method = (request.url ?? '').replace('/api/', '')
    const args = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()))
    const token = (request.headers.authorization ?? '').replace('Bearer ', '')
    sent.push({ method, args: parsed(args), token, at: performance.now() })
    const failure = failing.get(method)?.shift()
    if (failure === 'silence') return changed()
    const [status, body] = resultOf(method, args, token, failure)
    response.writeHead(status, {
      'content-type': 'application/json',
      'x-oauth-scopes': scopes.list.join(','),
      ...(typeof failure === 'object' && 'after' in failure && { 'retry-after': String(failure.after) }),
    })
    response.end(JSON.stringify(body))
    changed()
  }
  function resultOf(method: string, args: Args, token: string, failure: Failing | undefined): [number, Json] {
    if (typeof failure === 'object' && 'status' in failure)
      return [failure.status, { ok: false, error: 'ratelimited' }]
    if (typeof failure === 'object' && 'error' in failure) return [200, { ok: false, error: failure.error }]
    const wanted = method === 'apps.connections.open' ? SLACK.appToken : SLACK.botToken
    if (token !== wanted) return [200, { ok: false, error: 'invalid_auth' }]
    return [200, METHODS[method]?.(args) ?? { ok: false, error: 'unknown_method' }]
  }

  const secure = tls === undefined ? '' : 's'
  const listener = (request: IncomingMessage, response: ServerResponse): void =>
    void answer(request, response)
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  const upgrades = new WebSocketServer({ server })
  const here = (): number => (server.address() as AddressInfo).port
  const goodbye = (socket: WebSocket, reason: string): void =>
    socket.send(JSON.stringify({ type: 'disconnect', reason, debug_info: { host: 'fake' } }))
  upgrades.on('connection', (socket) => {
    if (sockets.size >= most) {
      goodbye(socket, 'too_many_websockets')
      socket.close()
      return
    }
    sockets.add(socket)
    socket.setMaxListeners(0)
    socket.on('close', () => {
      sockets.delete(socket)
      changed()
    })
    socket.on('message', (data) => {
      const { envelope_id: id, payload } = JSON.parse(String(data as Buffer)) as Json
      waiting.get(String(id))?.((payload ?? {}) as Json)
      changed()
    })
    if (hello)
      socket.send(
        JSON.stringify({
          type: 'hello',
          num_connections: sockets.size,
          connection_info: { app_id: SLACK.app },
          debug_info: { host: 'fake', approximate_connection_time: 18_060 },
        }),
      )
    changed()
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')

  /** Delivers an envelope to one of the connections. */
  function deliver(payload: Json, envelope = `e-${next()}`, to = -1): Delivery {
    const socket = [...sockets].at(to)
    if (socket === undefined) throw new Error('no connection')
    const acknowledged = new Promise<Json | undefined>((resolve) => {
      waiting.set(envelope, resolve)
      socket.once('close', () => resolve(undefined))
    })
    const message = { envelope_id: envelope, type: 'interactive', accepts_response_payload: true, payload }
    socket.send(JSON.stringify(message))
    return { id: envelope, acknowledged }
  }
  const person = ({ member: id = SLACK.member, memberWorkspace = SLACK.workspace }: Click): Json => ({
    id,
    username: id.toLowerCase(),
    team_id: memberWorkspace,
  })
  const common = (click: Click): Json => ({
    api_app_id: click.app ?? SLACK.app,
    team: { id: click.workspace ?? SLACK.workspace, domain: 'work' },
    user: person(click),
    trigger_id: click.trigger ?? `${next()}.trigger`,
    token: 'legacy',
  })

  return {
    url: `http${secure}://127.0.0.1:${here()}`,
    messages,
    sent,
    ephemerals,
    views,
    channels,
    scopes,
    sockets,
    member,
    deliver,
    /** The newest version of the only message, or of the one with this stamp. */
    shown(ts?: string): Json {
      const all = [...messages.values()]
      return (ts === undefined ? all.at(-1) : all.find((one) => one.ts === ts))?.versions.at(-1) ?? {}
    },
    /** The value that the buttons of the message carry. */
    buttonOf: (ts: string) => buttonValue(messages, ts),
    fail: (method: string, ...how: Failing[]) => void failing.set(method, how),
    /** Presses a button of a message in the channel; each part may be forged. */
    click(click: Click = {}): Delivery {
      const message = click.ts === undefined ? [...messages.values()].at(-1) : undefined
      const { channel, ts } = { channel: SLACK.channel, ts: '0.0', ...message, ...click }
      const act = `countersign:${click.act ?? 'approve'}`
      return deliver(
        {
          type: 'block_actions',
          ...common(click),
          container: { type: 'message', message_ts: ts, channel_id: channel, is_ephemeral: false },
          channel: { id: channel, name: 'approvals' },
          message: { type: 'message', ts, bot_id: click.bot ?? SLACK.bot, app_id: click.app ?? SLACK.app },
          actions: [
            {
              type: 'button',
              action_id: act,
              block_id: 'x',
              value: click.value ?? buttonValue(messages, ts),
              action_ts: '1',
            },
          ],
        },
        click.envelope,
        click.socket,
      )
    },
    /** Sends the newest dialog. */
    submit({
      typed,
      chosen,
      ...click
    }: Click & { readonly typed?: string; readonly chosen?: number }): Delivery {
      const view = views.at(-1)
      if (view === undefined) throw new Error('no dialog is open')
      const values = {
        comment: { comment: { type: 'plain_text_input', value: typed ?? null } },
        ...(chosen !== undefined && {
          offered: { offered: { type: 'radio_buttons', selected_option: { value: String(chosen) } } },
        }),
      }
      const full = { ...view, id: 'V1', app_id: SLACK.app, team_id: SLACK.workspace, state: { values } }
      return deliver({ type: 'view_submission', ...common(click), view: full }, click.envelope)
    },
    disconnect: (reason: string) => sockets.forEach((socket) => goodbye(socket, reason)),
    /** Ends all connections without a word. */
    kill: () => sockets.forEach((socket) => socket.terminate()),
    limitConnections: (number: number) => void (most = number),
    disable: (is = true) => void (linked = !is),
    greet: (is: boolean) => void (hello = is),
    /** Resolves when the condition holds, after any event. */
    async until(holds: () => boolean): Promise<void> {
      while (!holds())
        await new Promise<void>((resolve) => {
          const listener = (): void => {
            listeners.delete(listener)
            resolve()
          }
          listeners.add(listener)
        })
    },
    async close() {
      for (const socket of upgrades.clients) socket.terminate()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function buttonValue(messages: ReadonlyMap<string, FakeMessage>, ts: string): string {
  const versions = [...messages.values()].find((one) => one.ts === ts)?.versions ?? []
  const elements = versions
    .flatMap(({ blocks }) => blocks as Json[])
    .flatMap((block) => block['elements'] as Json[])
  const button = elements.findLast(({ type, value }) => type === 'button' && value !== undefined)
  return (button?.['value'] ?? 'none') as string
}
