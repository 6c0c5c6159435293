import { type JsonObject, type JsonValue, isObject } from '../contract/json.ts'
import { LossyNumber, parseStrictJson } from '../contract/strict-json.ts'

/*
 * Messages of the Model Context Protocol: JSON-RPC 2.0, one per line (transport `stdio`). The proxy parses each message
 * of the client and writes it again, so that the server reads exactly what the proxy read.
 */

export type Id = string | number

/** A request that runs a tool. */
export interface ToolCall {
  readonly id: Id
  readonly name: string
  /** `{}` when the call has no arguments. */
  readonly args: JsonObject
  /** Other members of a call: `_meta` and `task`. */
  readonly rest: JsonObject
  /** The client's name in this call. */
  readonly client: string | undefined
}

export type FromClient =
  | { readonly kind: 'call'; readonly call: ToolCall }
  | { readonly kind: 'cancel'; readonly id: Id; readonly reason: string; readonly message: JsonObject }
  | { readonly kind: 'relay'; readonly message: JsonObject }
  | Refusal

export interface Refusal {
  readonly kind: 'refuse'
  /** Undefined when the message expects no answer. */
  readonly id: Id | null | undefined
  readonly code: number
  readonly why: string
  /** The side that chose the id and receives the error. Client and server may use equal ids. */
  readonly asker: 'client' | 'server'
  /** The call that the client cancels in the refused message. */
  readonly cancelled?: Id
  /**
   * Present when the model can correct the call. The model reads results of failed calls, but not errors of the
   * protocol.
   */
  readonly isCorrectable?: true
}

export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const METHOD_NOT_FOUND = -32_601
export const INVALID_PARAMS = -32_602
export const INTERNAL_ERROR = -32_603
/** A code in JSON-RPC's range for errors of a server. */
export const SERVER_ENDED = -32_000

const CALL = 'tools/call'
const CLIENT_INFO = 'io.modelcontextprotocol/clientInfo'
const CLIENT_NAME_CHARS = 100
const CANCELLED = 'notifications/cancelled'
export const PROGRESS = 'notifications/progress'
export const MEMBERS = ['jsonrpc', 'id', 'method', 'params', 'result', 'error']
const CALL_MEMBERS = ['name', 'arguments', '_meta', 'task']

/** Reads a message of the client. Refuses any message that could run a tool and is not clearly a call. */
export function readClient(line: Uint8Array): FromClient {
  const message = parsed(line)
  if (message === undefined) return refuse(null, PARSE_ERROR, 'not JSON in UTF-8')
  if (!isObject(message))
    return refuse(null, INVALID_REQUEST, 'one message per line is required: batches are not relayed')
  const id = idOf(message['id'])
  if ('id' in message && id === undefined)
    return refuse(null, INVALID_REQUEST, 'an id must be text, or a number up to 2^53-1')
  // a server that ignores the case of names would read a different message
  const stray = Object.keys(message).find((member) => !MEMBERS.includes(member))
  if (stray !== undefined) return refuseMessage(message, `a message must not have the member \`${stray}\``)
  const { method } = message
  if (method === CALL) return readCall(id, line)
  if ('method' in message && !isOtherMethod(method))
    return refuse(id, INVALID_REQUEST, 'this is not a method')
  return readPassing(message)
}

const UNPINNED = /^(?:notifications\/)?(?:prompts|resources|completion)\//i

/** Returns true for a method about prompts or resources, in any spelling that a lenient server may accept. */
export function isUnpinnedMethod({ method }: JsonObject): boolean {
  return typeof method === 'string' && UNPINNED.test(method)
}

/** Reads a message that does not run a tool. Refuses the message when the proxy would alter it by writing it again. */
function readPassing(message: JsonObject): FromClient {
  const cancelled =
    message['method'] === CANCELLED ? idOf(objectIn(message['params'])['requestId']) : undefined
  const altering = whatAlters(message)
  // the proxy obeys a cancellation even when it cannot relay it
  if (altering !== undefined)
    return { ...refuseMessage(message, altering), ...(cancelled === undefined ? {} : { cancelled }) }
  if (cancelled === undefined) return { kind: 'relay', message }
  const { reason } = objectIn(message['params'])
  return { kind: 'cancel', id: cancelled, reason: typeof reason === 'string' ? reason : '', message }
}

/**
 * Maximum depth of nesting, far beyond real messages. JSON.parse reads deeper nesting than JSON.stringify (up to Node
 * 24) and the proxy's own stack can handle.
 */
const DEPTH = 500

/**
 * Returns the reason why the message would change if the proxy wrote it again; undefined when it would not change.
 * Walks the value level by level, so that deep nesting does not use the stack.
 */
function whatAlters(message: JsonObject): string | undefined {
  let level: JsonValue[] = [message]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH) return 'a message is nested too deeply'
    if (level.some((one) => typeof one === 'number' && Math.abs(one) > Number.MAX_SAFE_INTEGER))
      return 'a number beyond 2^53-1 would reach the server changed'
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  }
  return undefined
}

/**
 * Returns true for a method in visible ASCII, as all methods of the protocol are, that is not another spelling of a
 * call. A lenient server, which cuts text at NUL or drops invisible characters, could run a tool without review.
 */
function isOtherMethod(method: JsonValue | undefined): boolean {
  return typeof method === 'string' && /^[!-~]+$/.test(method) && method.toLowerCase() !== CALL
}

/** Advice for numbers that would lose digits, such as 64-bit identifiers. */
const SEND_AS_TEXT =
  'Numbers of JSON are exact up to 9007199254740991 and to 17 digits. Send this one as text, in quotes, and call the tool again.'

/**
 * Reads a call with the gateway's own strict scan, so that reviewers approve exactly the call that the server reads.
 */
function readCall(id: Id | undefined, line: Uint8Array): FromClient {
  if (id === undefined) return refuse(id, INVALID_REQUEST, 'a tool call must be a request with an id')
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
    return refuse(id, INVALID_PARAMS, `reviewers could not see \`${stray}\`, so a call must not have it`)
  if (typeof name !== 'string') return refuse(id, INVALID_PARAMS, 'a call must name its tool')
  if (!isObject(args)) return refuse(id, INVALID_PARAMS, 'the arguments of a tool must be an object')
  return { kind: 'call', call: { id, name, args, rest, client: clientNameIn({ method: CALL, params }) } }
}

function refuse(id: Id | null | undefined, code: number, why: string): Refusal {
  return { kind: 'refuse', id, code, why, asker: 'client' }
}

/**
 * Refuses a message. Sends the error for a refused answer to the server. The client would take the error for the answer
 * to another request.
 */
function refuseMessage(message: JsonObject, why: string): Refusal {
  const asker = 'method' in message ? 'client' : 'server'
  return { ...refuse(idOf(message['id']), INVALID_REQUEST, why), asker }
}

/** Returns the JSON of a line; undefined when the line is not JSON in UTF-8. */
export function parsed(line: Uint8Array): JsonValue | undefined {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line)) as JsonValue
  } catch {
    return undefined
  }
}

export function objectIn(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {}
}

/**
 * Returns a valid id. Returns undefined for a number that may have lost digits, because it could match another request.
 */
export function idOf(value: JsonValue | undefined): Id | undefined {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER ? undefined : value
  return typeof value === 'string' ? value : undefined
}

/**
 * Writes JSON in ASCII. A server that reads its system's encoding instead of UTF-8 would otherwise not run the approved
 * call.
 */
export function asciiJson(message: JsonObject): string {
  const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(message).replaceAll(/[\u007f-\uffff]/g, escaped)
}

/** Returns the message of a call with its approved arguments. */
export function callMessage({ id, name, rest }: ToolCall, args: JsonObject): JsonObject {
  return { jsonrpc: '2.0', id, method: CALL, params: { ...rest, name, arguments: args } }
}

export function errorMessage(id: Id | null, code: number, message: string): JsonObject {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

/** Returns a result that the model reads as a failed call. Many clients hide errors of the protocol from the model. */
export function failureMessage(id: Id, text: string, meta: JsonObject): JsonObject {
  const content = [{ type: 'text', text }]
  // revision 2026-07-28 of the protocol requires `resultType`; older revisions ignore it
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', isError: true, content, _meta: meta } }
}

/**
 * Returns the client's name. The name is in `initialize` and, since revision 2026-07-28, in each request.
 */
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

/** The message as a line of the transport. */
export function lineOf(message: JsonObject): Uint8Array {
  return withEnd(Buffer.from(asciiJson(message)))
}

export function withEnd(line: Uint8Array): Uint8Array {
  return Buffer.concat([line, Buffer.from('\n')])
}
