import { isObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { digestOf } from './digest.ts'

/** The target of an erasure: a task, a thread, an agent, or a value of a field. */
export type Selection =
  | { readonly task_id: string }
  | { readonly thread_id: string }
  | { readonly agent: string }
  | {
      /** The name of the field in rules: `payload.customer.email`. */
      readonly field: string
      readonly equals: string
    }

/**
 * The heading, which is made from values, names of payload members, and hashes, with which a reader could test guesses
 * of an erased value.
 */
const REVEALING = ['line', 'payload_digest', 'action_hash', 'nonce', 'display']

/** Shortest value that is also searched inside longer texts. A shorter one would match by chance. */
const SEARCHED_CHARS = 4

/** A value of a field. `path` is the path of a field of the payload. */
export interface FieldValue {
  /** The canonical name of the field. */
  readonly field: string
  readonly equals: string
  readonly path?: readonly Step[] | undefined
}

type Step = string | number

const isValue = (value: JsonValue | undefined, equals: string): boolean =>
  Array.isArray(value)
    ? value.some((one: JsonValue) => isValue(one, equals))
    : value !== undefined && (value === equals || (typeof value !== 'object' && String(value) === equals))

/**
 * True when disclosed members have the value in the field. `pathOf` returns the path of a field of the payload: a rule
 * may have read an object that contains the field. The payload of a report is searched too.
 */
export function isAbout(
  members: JsonObject,
  { field, equals, path }: FieldValue,
  pathOf: (field: string) => readonly Step[] | undefined,
): boolean {
  if (isValue(members[`reads.${field}`], equals) || members[`digests.${field}`] === digestOf(equals))
    return true
  if (path === undefined) return false
  const { payload } = members
  if (isObject(payload) && hasValue(payload, path, equals)) return true
  return Object.entries(members).some(([name, value]) => {
    const read = name.startsWith('reads.') ? pathOf(name.slice('reads.'.length)) : undefined
    return read !== undefined && isPrefix(read, path) && hasValue(value, path.slice(read.length), equals)
  })
}

const isPrefix = (prefix: readonly Step[], path: readonly Step[]): boolean =>
  prefix.length <= path.length &&
  prefix.every((step, i) => step === path[i] || (typeof step === 'number' && typeof path[i] === 'number'))

/** True when the value is at the path, whatever the indexes of lists on it are. */
export function hasValue(at: JsonValue | undefined, path: readonly Step[], equals: string): boolean {
  const [step, ...rest] = path
  if (step === undefined) return isValue(at, equals)
  if (Array.isArray(at))
    return typeof step === 'number' && at.some((one: JsonValue) => hasValue(one, rest, equals))
  return isObject(at) && Object.hasOwn(at, step) && hasValue(at[step], rest, equals)
}

/** True when a string in the JSON value is the value or, for a value that is not short, contains it. */
export function contains(value: JsonValue | undefined, equals: string): boolean {
  if (typeof value === 'string') return value === equals || isIn(value, equals)
  if (Array.isArray(value)) return value.some((one: JsonValue) => contains(one, equals))
  if (!isObject(value)) return isValue(value, equals)
  return Object.entries(value).some(([name, one]) => contains(name, equals) || contains(one, equals))
}

/** A string may be JSON text, in which the value has escapes. */
const isIn = (text: string, equals: string): boolean =>
  equals.length >= SEARCHED_CHARS &&
  (text.includes(equals) || text.includes(JSON.stringify(equals).slice(1, -1)))

/**
 * The names of the members to erase from a selected record: all, or those that reveal the value. A heading and a hash
 * may reveal any value of the payload.
 */
export function namesToErase(members: JsonObject, selection: Selection): string[] {
  const names = Object.keys(members)
  if (!('field' in selection)) return names
  return names.filter(
    (name) =>
      REVEALING.includes(name) || name.startsWith('digests.') || contains(members[name], selection.equals),
  )
}
