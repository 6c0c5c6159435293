import { isObject } from '../contract/json.ts'
import type { ChatClick, ChatAnswer, ChatMember, ChatSent } from '../domain/chat.ts'
import type { ChatApp } from '../gateway/chat/chat-app.ts'
import { messageOf } from './blocks.ts'
import { type Clicked, type Own, takeEnvelope } from './clicks.ts'
import { openSocket, type SocketOptions } from './socket.ts'
import { type Called, type Clock, createWebApi, type WebApiOptions } from './web-api.ts'

export interface SlackOptions
  extends WebApiOptions, Pick<SocketOptions, 'open' | 'onConnected' | 'onTrouble'> {
  readonly appToken: string
  readonly botToken: string
  readonly onClick: (click: ChatClick) => Promise<ChatAnswer>
  readonly onAnswer: (result: Clicked) => void
  readonly onSent: (what: 'post' | 'rewrite', result: ChatSent['kind']) => void
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
  const call: Call = (method, args, signal) =>
    api.call(botToken, method, args as Record<string, unknown>, signal)
  let own: Own | undefined
  const underWay = new Set<Promise<void>>()
  const socket = openSocket({
    ...options,
    async nextUrl(signal) {
      own ??= await ownOf(call, signal)
      const opened = await api.call(appToken, 'apps.connections.open', {}, signal)
      return member(opened, 'apps.connections.open', 'url')
    },
    onEnvelope(envelope) {
      const taking = takeEnvelope(envelope, { ...options, call, own }).catch((error: unknown) =>
        options.onTrouble(`an envelope could not be read: ${String(error)}`),
      )
      underWay.add(taking)
      void taking.finally(() => underWay.delete(taking))
    },
  })
  const turn = turns(clock)
  return {
    get workspace() {
      return own?.workspace
    },
    async send({ channel, stamp: ts }, message, signal) {
      const [what, method] =
        ts === undefined ? (['post', 'chat.postMessage'] as const) : (['rewrite', 'chat.update'] as const)
      const retryMs = await turn(channel, signal)
      const args = { channel, ...(ts && { ts }), ...messageOf(message) }
      const sent = sentOf(
        retryMs === undefined ? await call(method, args, signal) : { ok: false, code: 'paced', retryMs },
      )
      options.onSent(what, sent.kind)
      return sent
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

async function ownOf(call: Call, signal: AbortSignal): Promise<Own> {
  const tested = await call('auth.test', {}, signal)
  return { workspace: member(tested, 'auth.test', 'team_id'), bot: member(tested, 'auth.test', 'bot_id') }
}

function member(called: Called, method: string, name: string): string {
  const value = called.ok ? called.body[name] : undefined
  if (typeof value === 'string') return value
  throw new Error(`${method}: ${called.ok ? `no ${name}` : called.code}`)
}

function sentOf(called: Called): ChatSent {
  if (called.ok) return { kind: 'sent', stamp: String(called.body['ts']) }
  const { ok: _, ...failed } = called
  return { kind: GONE.includes(called.code) ? 'gone' : 'failed', ...failed }
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

function members(call: Call, workspace: () => string | undefined, clock: Clock): ChatApp['member'] {
  const kept = new Map<string, { readonly at: number; readonly member: ChatMember | undefined }>()
  return async (id) => {
    const known = kept.get(id)
    if (known !== undefined && clock.now() - known.at < KEPT_MS) return known.member
    const called = await call('users.info', { user: id })
    if (!called.ok && called.code !== 'user_not_found') throw new Error(`users.info: ${called.code}`)
    const found = called.ok ? memberOf(called.body['user'], id, workspace()) : undefined
    if (kept.size >= MOST_KEPT) kept.clear()
    kept.set(id, { at: clock.now(), member: found })
    return found
  }
}

/** Members who may not vote. A record without one of the flags says too little. */
const FLAGS = [
  ['deleted', 'a deactivated member'],
  ['is_bot', 'a bot'],
  ['is_restricted', 'a guest'],
  ['is_ultra_restricted', 'a guest'],
] as const

function memberOf(user: unknown, id: string, own: string | undefined): ChatMember | undefined {
  if (!isObject(user) || user['id'] !== id || typeof user['team_id'] !== 'string') return undefined
  // a record of another workspace has fewer flags
  if (user['team_id'] !== own || user['is_stranger'] === true)
    return { refused: 'a member of another workspace' }
  if (id === 'USLACKBOT') return { refused: 'a bot' }
  const [, refused] = FLAGS.find(([flag]) => user[flag] === true) ?? []
  if (refused !== undefined) return { refused }
  return FLAGS.every(([flag]) => user[flag] === false) ? {} : undefined
}
