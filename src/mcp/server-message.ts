import { type JsonObject, type JsonValue, isObject } from '../contract/json.ts'
import { type Id, idOf, isUnpinnedMethod, MEMBERS, objectIn, parsed, PROGRESS } from './message.ts'
import { repeatedMember } from './repeated.ts'

/*
 * Messages of the server. The proxy passes them on in their own bytes, so every client must read them as the proxy did.
 * A readable line is one object of JSON, with each member once and in its own spelling.
 */

/** An answer of the server, in its original bytes. */
export interface ServerAnswer {
  readonly kind: 'answer'
  readonly id: Id
  readonly line: Uint8Array
  /** True for an error of the protocol, and for a result with `isError`. */
  readonly failed: boolean
  /** Undefined for an error. */
  readonly result: JsonObject | undefined
  /** The server's reason for an error. */
  readonly why?: string
}

/** The server reports a change of its prompts or resources, or asks the client's model. */
export interface ServerUnpinned {
  readonly kind: 'unpinned'
  /** Undefined when the server expects no answer. */
  readonly id: Id | undefined
}

/** The server reports the progress of a call. */
export interface ServerProgress {
  readonly kind: 'progress'
  readonly token: Id
  readonly progress: number
}

/** A line that the client could read differently than the proxy. */
export interface ServerUnreadable {
  readonly kind: 'unreadable'
  readonly why: string
  /** Returns true when the line may be the answer to this request. */
  readonly mayAnswer: (id: Id) => boolean
}

export type FromServer =
  | ServerAnswer
  | ServerProgress
  | ServerUnpinned
  /** `outdated`: the list of tools changed. `other`: any other request or notification. */
  | { readonly kind: 'outdated' | 'other' }
  | ServerUnreadable

const LIST_CHANGED = 'notifications/tools/list_changed'
/** Members of results that the proxy reads. */
const RESULT_MEMBERS: readonly string[] = ['tools', 'nextCursor', 'instructions', 'capabilities']
/** Capabilities that no contract pins. */
export const CAPABILITIES: readonly string[] = ['prompts', 'resources', 'completions']

/** Reads a line of the server. */
export function readServer(line: Uint8Array): FromServer {
  const message = parsed(line)
  const why = whyUnreadable(line, message)
  if (why !== undefined || !isObject(message)) return unreadable(line, why ?? 'it is not one object')
  const { method } = message
  if (method === LIST_CHANGED) return { kind: 'outdated' }
  const id = idOf(message['id'])
  if (isUnpinnedMethod(message) || isSampling(method)) return { kind: 'unpinned', id }
  if ('method' in message) return (method === PROGRESS && progressIn(message)) || { kind: 'other' }
  return id === undefined
    ? unreadable(line, 'it has neither a method nor a valid id')
    : answerIn(message, id, line)
}

function answerIn(message: JsonObject, id: Id, line: Uint8Array): ServerAnswer {
  const result = isObject(message['result']) ? message['result'] : undefined
  const failed = 'error' in message || result?.['isError'] === true
  const { message: why } = objectIn(message['error'])
  return {
    kind: 'answer',
    id,
    line,
    failed,
    result,
    why: typeof why === 'string' ? why : 'it gave no reason',
  }
}

function whyUnreadable(line: Uint8Array, message: JsonValue | undefined): string | undefined {
  if (message === undefined) return 'it is not JSON'
  if (!isObject(message)) return 'it is not one object'
  const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength)
  // a client may take a lone carriage return for the end of a line
  const end = text.indexOf('\r')
  if (end >= 0 && end < text.length - 1) return 'it has a carriage return inside'
  const result = objectIn(message['result'])
  const isMisspelt =
    hasMisspelt(message, MEMBERS) ||
    hasMisspelt(result, RESULT_MEMBERS) ||
    hasMisspelt(objectIn(result['capabilities']), CAPABILITIES)
  if (isMisspelt) return 'it has a member in other letters than the protocol'
  if ('method' in message && ('result' in message || 'error' in message))
    return 'it is both an answer and a request'
  return repeatedMember(text) ? 'it has a member twice' : undefined
}

const isSampling = (method: JsonValue | undefined): boolean =>
  typeof method === 'string' && /^sampling\//i.test(method)

/** Returns true when a member has one of these names in other letters. Some readers ignore the case of names. */
function hasMisspelt(object: JsonObject, names: readonly string[]): boolean {
  const known = new Set(names.map(folded))
  return Object.keys(object).some((name) => !names.includes(name) && known.has(folded(name)))
}

/** Upper case first: the long s and the sign for Kelvin, which some readers take for letters, become letters. */
const folded = (name: string): string => name.toUpperCase().toLowerCase()

/** A line whose ids are found by their look, because it cannot be read: `"id": 7`. */
function unreadable(line: Uint8Array, why: string): ServerUnreadable {
  const text = Buffer.from(line).toString('utf8')
  const found = [...text.matchAll(/"id"\s*:\s*(?:"((?:[^"\\]){0,200})"|(-?\d{1,20}))/gi)]
  const ids = new Set(found.map(([, quoted, number]) => quoted ?? number))
  return { kind: 'unreadable', why, mayAnswer: (id) => ids.has(String(id)) }
}

function progressIn({ params }: JsonObject): ServerProgress | undefined {
  const { progressToken, progress } = objectIn(params)
  const token = idOf(progressToken)
  return token === undefined || typeof progress !== 'number'
    ? undefined
    : { kind: 'progress', token, progress }
}
