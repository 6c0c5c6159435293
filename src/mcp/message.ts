import type { JsonObject, JsonValue } from '../contract/json.ts'
import { LossyNumber, parseStrictJson } from '../contract/strict-json.ts'

/*
 * Messages of the Model Context Protocol: JSON-RPC 2.0, one to a line (transport `stdio`). Read so that the proxy and the server never see two different
 * messages in the same bytes: what goes on is written anew from what was read here.
 */

export type Id = string | number

/** A request that runs a tool. */
export interface ToolCall {
  readonly id: Id
  readonly name: string
  /** `{}` when there were none. */
  readonly args: JsonObject
  /** What else a call may have: `_meta` and `task`. */
  readonly rest: JsonObject
  /** As the client names itself here. */
  readonly client: string | undefined
}

export type FromClient =
  | { readonly kind: 'call'; readonly call: ToolCall }
  | { readonly kind: 'cancel'; readonly id: Id; readonly message: JsonObject }
  | { readonly kind: 'relay'; readonly message: JsonObject }
  | Refusal

export interface Refusal {
  readonly kind: 'refuse'
  /** Undefined: nobody waits for an answer. */
  readonly id: Id | null | undefined
  readonly code: number
  readonly why: string
  /** Of whom the id is: who answers counts from zero, too. */
  readonly asker: 'client' | 'server'
  /** The call that the client gave up, in what is refused. */
  readonly cancelled?: Id
  /** The model can correct what is refused: it reads the result of a failed call, and no error of the protocol. */
  readonly isCorrectable?: true
}

export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const INVALID_PARAMS = -32_602
/** The range of JSON-RPC for errors of a server. */
export const SERVER_ENDED = -32_000

const CALL = 'tools/call'
const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo'
const CLIENT_NAME_CHARS = 100
const CANCELLED = 'notifications/cancelled'
const PROGRESS = 'notifications/progress'
const LIST_CHANGED = 'notifications/tools/list_changed'
const MEMBERS = ['jsonrpc', 'id', 'method', 'params', 'result', 'error']
const CALL_MEMBERS = ['name', 'arguments', '_meta', 'task']

/** What the client wants. Whatever could run a tool and is not plainly a call is refused. */
export function readClient(line: Uint8Array): FromClient {
  const message = parsed(line)
  if (message === undefined) return refuse(null, PARSE_ERROR, 'not JSON in UTF-8')
  if (!isObject(message))
    return refuse(null, INVALID_REQUEST, 'one message to a line: batches are not relayed')
  const id = idOf(message['id'])
  if ('id' in message && id === undefined)
    return refuse(null, INVALID_REQUEST, 'an id is text, or a number up to 2^53-1')
  // a server that reads names in any case, or the first of two, would see another message
  const stray = Object.keys(message).find((member) => !MEMBERS.includes(member))
  if (stray !== undefined) return refuseMessage(message, `a message has no member \`${stray}\``)
  const { method } = message
  if (method === CALL) return readCall(id, line)
  if ('method' in message && !isOtherMethod(method)) return refuse(id, INVALID_REQUEST, 'this is no method')
  return readPassing(message)
}

/** What runs no tool: it goes on, unless it would reach the server as something else. */
function readPassing(message: JsonObject): FromClient {
  const cancelled =
    message['method'] === CANCELLED ? idOf(objectIn(message['params'])['requestId']) : undefined
  const altering = whatAlters(message)
  // who gives up is heard, whether or not the server can be told
  if (altering !== undefined)
    return { ...refuseMessage(message, altering), ...(cancelled === undefined ? {} : { cancelled }) }
  return cancelled === undefined ? { kind: 'relay', message } : { kind: 'cancel', id: cancelled, message }
}

/** Deeper than anything that somebody means. JSON.parse goes deeper than JSON.stringify does, up to Node 24, and than our stack does. */
const DEPTH = 500

/** Why it would not reach the server as it is: what goes there is written anew. A level at a time, for the sake of the stack. */
function whatAlters(message: JsonObject): string | undefined {
  let level: JsonValue[] = [message]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH) return 'a message is nested too deeply'
    if (level.some((one) => typeof one === 'number' && Math.abs(one) > Number.MAX_SAFE_INTEGER))
      return 'a number beyond 2^53-1 would reach the server as another one'
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  }
  return undefined
}

/**
 * A server that is kind to what is spelled otherwise would run a tool that nobody was asked about: one that cuts text at NUL, or drops what cannot be seen. No method of
 * the protocol has anything but visible ASCII.
 */
function isOtherMethod(method: JsonValue | undefined): boolean {
  return typeof method === 'string' && /^[!-~]+$/.test(method) && method.toLowerCase() !== CALL
}

/** An identifier of 64 bits loses its last digits in most programs that read it as a number. */
const SEND_AS_TEXT =
  'Numbers of JSON are exact up to 9007199254740991 and to 17 digits. Send this one as text, in quotes, and call the tool again.'

/** By the gateway's own strict scan: what people approve must be what the server reads. */
function readCall(id: Id | undefined, line: Uint8Array): FromClient {
  if (id === undefined) return refuse(id, INVALID_REQUEST, 'a tool is called by a request, which has an id')
  let message: JsonValue
  try {
    message = parseStrictJson(line, { longTextsIn: 'params' })
  } catch (cause) {
    const why = (cause as Error).message
    if (cause instanceof LossyNumber)
      return { ...refuse(id, INVALID_PARAMS, `${why}. ${SEND_AS_TEXT}`), isCorrectable: true }
    return refuse(id, INVALID_PARAMS, why)
  }
  const params = objectIn(objectIn(message)['params'])
  const { name, arguments: args = {}, ...rest } = params
  const stray = Object.keys(params).find((member) => !CALL_MEMBERS.includes(member))
  if (stray !== undefined)
    return refuse(id, INVALID_PARAMS, `nobody could review \`${stray}\`, so a call must not have it`)
  if (typeof name !== 'string') return refuse(id, INVALID_PARAMS, 'a call names its tool')
  if (!isObject(args)) return refuse(id, INVALID_PARAMS, 'the arguments of a tool are an object')
  return { kind: 'call', call: { id, name, args, rest, client: clientNameIn({ method: CALL, params }) } }
}

function refuse(id: Id | null | undefined, code: number, why: string): Refusal {
  return { kind: 'refuse', id, code, why, asker: 'client' }
}

/** Of an answer, the server hears: an error with this id would be the answer to another request for the client. */
function refuseMessage(message: JsonObject, why: string): Refusal {
  const asker = 'method' in message ? 'client' : 'server'
  return { ...refuse(idOf(message['id']), INVALID_REQUEST, why), asker }
}

/** What a server answers, in the bytes in which it came. */
export interface ServerAnswer {
  readonly kind: 'answer'
  readonly id: Id
  readonly line: Uint8Array
  /** An error of the protocol, or a result that says that the tool failed. */
  readonly failed: boolean
  /** Undefined for an error. */
  readonly result: JsonObject | undefined
}

/** The list of tools is another one by now. */
export interface ServerOutdated {
  readonly kind: 'outdated'
}

/** A server says how far a call is. */
export interface ServerProgress {
  readonly kind: 'progress'
  readonly token: Id
  readonly progress: number
}

/** Undefined for all else that a server says, and for what is no message. */
export function readServer(line: Uint8Array): ServerAnswer | ServerProgress | ServerOutdated | undefined {
  const message = parsed(line)
  if (!isObject(message)) return undefined
  if (message['method'] === LIST_CHANGED) return { kind: 'outdated' }
  if ('method' in message) return message['method'] === PROGRESS ? progressIn(message) : undefined
  const id = idOf(message['id'])
  if (id === undefined) return undefined
  const result = isObject(message['result']) ? message['result'] : undefined
  const failed = 'error' in message || result?.['isError'] === true
  return { kind: 'answer', id, line, failed, result }
}

function progressIn({ params }: JsonObject): ServerProgress | undefined {
  const { progressToken, progress } = objectIn(params)
  const token = idOf(progressToken)
  return token === undefined || typeof progress !== 'number'
    ? undefined
    : { kind: 'progress', token, progress }
}

function parsed(line: Uint8Array): JsonValue | undefined {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line)) as JsonValue
  } catch {
    return undefined
  }
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objectIn(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {}
}

/** Undefined for a number that may not have survived its reading, too: an answer to another id is none. */
export function idOf(value: JsonValue | undefined): Id | undefined {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER ? undefined : value
  return typeof value === 'string' ? value : undefined
}

/** In ASCII: a server that does not read UTF-8, but what its system is set to, would run something else than what was approved. */
export function asciiJson(message: JsonObject): string {
  const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(message).replaceAll(/[\u007f-\uffff]/g, escaped)
}

/** A call with the arguments that were approved. */
export function callMessage({ id, name, rest }: ToolCall, args: JsonObject): JsonObject {
  return { jsonrpc: '2.0', id, method: CALL, params: { ...rest, name, arguments: args } }
}

export function errorMessage(id: Id | null, code: number, message: string): JsonObject {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

/** A result that the model reads as the failure of its call: an error of the protocol many clients keep from it. */
export function failureMessage(id: Id, text: string, meta: JsonObject): JsonObject {
  const content = [{ type: 'text', text }]
  // revision 2026-07-28 of the protocol wants `resultType`; those before leave alone what they do not know
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', isError: true, content, _meta: meta } }
}

/** What the client calls itself: in `initialize`, and since revision 2026-07-28 in each request. */
export function clientNameIn({ method, params }: JsonObject): string | undefined {
  const meta = objectIn(objectIn(params)['_meta'])
  const info = method === 'initialize' ? objectIn(params)['clientInfo'] : meta[CLIENT_INFO]
  const { name } = objectIn(info)
  return typeof name === 'string' && name !== '' ? name.slice(0, CLIENT_NAME_CHARS).toWellFormed() : undefined
}

export function progressMessage(progressToken: Id, progress: number, message: string): JsonObject {
  return {
    jsonrpc: '2.0',
    method: PROGRESS,
    params: { progressToken, progress, message },
  }
}
