import { isObject } from '../contract/json.ts'
import type { ChatClick, ChatAnswer, ChatMember, ChatSent } from '../domain/chat.ts'
import type { ChatApp } from '../gateway/chat/chat-app.ts'
import { messageOf } from './blocks.ts'
import { type Clicked, type Own, takeEnvelope } from './clicks.ts'
import { openSocket, type SocketOptions } from './socket.ts'
import { type Called, type Clock, createWebApi, type WebApi, type WebApiOptions } from './web-api.ts'

export interface SlackOptions extends WebApiOptions {
  readonly appToken: string
  readonly botToken: string
  readonly open: SocketOptions['open']
  readonly onClick: (click: ChatClick) => Promise<ChatAnswer>
  readonly observe: (clicked: Clicked) => void
  readonly onConnected: (is: boolean) => void
  readonly onTrouble: (why: string) => void
}

export interface SlackApp extends ChatApp {
  /** Ends the connection, after the clicks under way. */
  close(): Promise<void>
}

/** Time for which the chat's record of a member is kept, ms. */
const KEPT_MS = 10 * 60_000
const MOST_KEPT = 10_000
/** Slack permits one message a second for each channel. */
const BETWEEN_MS = 1_000
/** A message that would wait longer for its turn is tried again later, ms. */
const MOST_WAIT_MS = 5_000
/** Errors after which no request can succeed. An app that is not in the channel yet may be invited. */
const GONE = ['is_archived', 'message_not_found', 'cant_update_message', 'edit_window_closed']

/** Connects to Slack in the background: without Slack, the gateway works as before. */
export function openSlack(options: SlackOptions): SlackApp {
  const { appToken, botToken, clock } = options
  const api = createWebApi(options)
  const call = (method: string, args: object, signal?: AbortSignal): Promise<Called> =>
    api.call(botToken, method, args as Record<string, unknown>, signal)
  let own: Own | undefined
  const underWay = new Set<Promise<void>>()
  const socket = openSocket({
    ...options,
    async nextUrl(signal) {
      own ??= await ownOf(call, signal)
      return urlOf(api, appToken, signal)
    },
    onEnvelope(envelope) {
      const taking = takeEnvelope(envelope, { ...options, call, own: () => own }).catch((error: unknown) =>
        options.onTrouble(`an envelope could not be read: ${String(error)}`),
      )
      underWay.add(taking)
      void taking.finally(() => underWay.delete(taking))
    },
  })
  const turn = turns(clock)
  const send: Send = async (method, { channel, args, signal }) => {
    if (args === undefined) return { kind: 'failed', code: 'msg_blocks_too_long' }
    const waitMs = await turn(channel, signal)
    if (waitMs !== undefined) return { kind: 'failed', code: 'paced', retryMs: waitMs }
    return sentOf(await call(method, { channel, ...args }, signal))
  }
  return {
    get workspace() {
      return own?.workspace
    },
    post: (channel, message, signal) =>
      send('chat.postMessage', { channel, args: messageOf(message), signal }),
    rewrite({ channel, stamp }, message, signal) {
      const args = messageOf(message)
      return send('chat.update', { channel, args: args && { ts: stamp, ...args }, signal })
    },
    member: members(call, () => own?.workspace, clock),
    async close() {
      await Promise.all(underWay)
      await socket.close()
      await Promise.all(underWay)
    },
  }
}

type Call = (method: string, args: object, signal?: AbortSignal) => Promise<Called>
type Send = (
  method: string,
  sending: { readonly channel: string; readonly args: object | undefined; readonly signal: AbortSignal },
) => Promise<ChatSent>

async function ownOf(call: Call, signal: AbortSignal): Promise<Own> {
  const { team_id: workspace, bot_id: bot } = bodyOf('auth.test', await call('auth.test', {}, signal))
  if (typeof workspace !== 'string' || typeof bot !== 'string') throw new Error('auth.test: no bot')
  return { workspace, bot }
}

async function urlOf(api: WebApi, token: string, signal: AbortSignal): Promise<string> {
  const method = 'apps.connections.open'
  const { url } = bodyOf(method, await api.call(token, method, {}, signal))
  if (typeof url !== 'string') throw new Error(`${method}: no url`)
  return url
}

function bodyOf(method: string, called: Called): Readonly<Record<string, unknown>> {
  if (called.ok) return called.body
  throw new Error(`${method}: ${called.code}`)
}

function sentOf(called: Called): ChatSent {
  if (called.ok) return { kind: 'sent', stamp: String(called.body['ts']) }
  const { code, retryMs } = called
  if (GONE.includes(code)) return { kind: 'gone', code }
  return { kind: 'failed', code, ...(retryMs !== undefined && { retryMs }) }
}

/** The turns of messages in each channel. Returns the time until the next turn when that is too long to wait. */
function turns(clock: Clock): (channel: string, signal: AbortSignal) => Promise<number | undefined> {
  const next = new Map<string, number>()
  return async (channel, signal) => {
    const now = clock.now()
    const at = Math.max(now, next.get(channel) ?? 0)
    if (at - now > MOST_WAIT_MS) return at - now
    next.set(channel, at + BETWEEN_MS)
    if (at > now) await clock.sleep(at - now, signal).catch(() => undefined)
    return undefined
  }
}

function members(
  call: Call,
  workspace: () => string | undefined,
  clock: Clock,
): (id: string) => Promise<ChatMember | undefined> {
  const kept = new Map<string, { readonly at: number; readonly member: ChatMember | undefined }>()
  return async (id) => {
    const known = kept.get(id)
    if (known !== undefined && clock.now() - known.at < KEPT_MS) return known.member
    const called = await call('users.info', { user: id })
    if (!called.ok && called.code !== 'user_not_found') throw new Error(`users.info: ${called.code}`)
    const member = called.ok ? memberOf(called.body['user'], id, workspace()) : undefined
    if (kept.size >= MOST_KEPT) kept.clear()
    kept.set(id, { at: clock.now(), member })
    return member
  }
}

/** Members who may not vote. A record without one of the flags says too little. */
const FLAGS = {
  deleted: 'a deactivated member',
  is_bot: 'a bot',
  is_restricted: 'a guest',
  is_ultra_restricted: 'a guest',
} as const

function memberOf(user: unknown, id: string, own: string | undefined): ChatMember | undefined {
  if (!isObject(user) || user['id'] !== id || typeof user['team_id'] !== 'string') return undefined
  const workspace = user['team_id']
  const refused = (kind: string): ChatMember => ({ workspace, mayVote: false, kind })
  // a record of another workspace has fewer members
  if (workspace !== own || user['is_stranger'] === true) return refused('a member of another workspace')
  if (user['deleted'] === true) return refused(FLAGS.deleted)
  const flags = Object.entries(FLAGS)
  if (flags.some(([flag]) => typeof user[flag] !== 'boolean')) return undefined
  const [, kind] = flags.find(([flag]) => user[flag] === true) ?? []
  if (id === 'USLACKBOT') return refused(FLAGS.is_bot)
  return kind === undefined ? { workspace, mayVote: true } : refused(kind)
}
