import { isObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { canonicalJson, digestOf } from './digest.ts'

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

/** Members that are a hash or its salt: a reader could test guesses of an erased value with them. */
const HASHES = ['payload_digest', 'action_hash', 'nonce']

const isValue = (value: JsonValue | undefined, equals: string): boolean =>
  Array.isArray(value)
    ? value.some((one: JsonValue) => isValue(one, equals))
    : value !== undefined && (value === equals || (typeof value !== 'object' && String(value) === equals))

/** A value of a field, with the path of the field in a payload, if it is in one. */
export interface FieldValue {
  readonly field: string
  readonly equals: string
  readonly path: readonly (string | number)[] | undefined
}

/** True when the disclosed members have the value in the field, or the payload of a report has it. */
export function isAbout(members: JsonObject, { field, equals, path }: FieldValue): boolean {
  if (isValue(members[`reads.${field}`], equals) || members[`digests.${field}`] === digestOf(equals))
    return true
  const { payload } = members
  return path !== undefined && isObject(payload) && payloadHas(payload, path, equals)
}

/** True when the value is anywhere in the text of the JSON value. */
export const contains = (value: JsonValue, equals: string): boolean =>
  isValue(value, equals) || canonicalJson(value).includes(JSON.stringify(equals).slice(1, -1))

/** True when the payload has the value at the path. */
export function payloadHas(payload: JsonObject, path: readonly (string | number)[], equals: string): boolean {
  let here: JsonValue | undefined = payload
  for (const step of path) {
    if (Array.isArray(here)) here = (here as readonly JsonValue[])[Number(step)]
    else if (isObject(here) && Object.hasOwn(here, step)) here = here[step]
    else return false
  }
  return isValue(here, equals)
}

/** The names of the members to erase from a selected record: all, or those that reveal the value. */
export function namesToErase(members: JsonObject, selection: Selection): string[] {
  const names = Object.keys(members)
  if (!('field' in selection)) return names
  const { field, equals } = selection
  return names.filter(
    (name) =>
      HASHES.includes(name) || name === `digests.${field}` || contains(members[name] as JsonValue, equals),
  )
}
