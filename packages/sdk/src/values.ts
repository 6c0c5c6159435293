import { canonicalJson, frozenCopy, pointerStep } from './canonical-json.ts'
import { InvalidPayload } from './errors.ts'
import { messageOf } from './refusal.ts'
import type { Json, Payload } from './types.ts'

type Convert = (value: unknown, pointer: string) => Json

/** A row of docs/javascript/values.md, whose words are in test/sdk/values.test.ts. */
export interface Kind {
  readonly name: string
  /** Advice to the caller, for a kind that is always refused. */
  readonly remedy?: string
  readonly is: (value: unknown) => boolean
  /** Absent for a kind that is always refused. `inner` converts a member. @throws InvalidPayload */
  readonly json?: (value: never, pointer: string, inner: Convert) => Json
}

const isExactly =
  (type: { readonly prototype: object }) =>
  (value: unknown): boolean =>
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === type.prototype
const isPlain = (value: unknown): boolean =>
  isExactly(Object)(value) ||
  (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === null)
const PLAIN = 'pass a plain object'

/** The table of the page: for each type, its JSON. The first row that fits counts. */
export const KINDS: readonly Kind[] = [
  {
    name: 'plain value',
    is: (value) => value === null || typeof value === 'boolean' || typeof value === 'string',
    json: (value: string, pointer) =>
      typeof value === 'string' && !value.isWellFormed()
        ? refuse('a string with a lone surrogate', 'send other text', pointer)
        : value,
  },
  {
    name: 'number',
    is: (value) => typeof value === 'number',
    json: (value: number, pointer) =>
      Number.isFinite(value) ? value + 0 : refuse(`the number ${value}`, 'send text or null', pointer),
  },
  {
    name: 'bigint',
    is: (value) => typeof value === 'bigint',
    json: String,
  },
  {
    name: 'Date',
    is: isExactly(Date),
    json: (value: Date, pointer) => {
      const time = Date.prototype.getTime.call(value)
      // NaN fails both comparisons
      if (!(time >= FIRST_MS && time <= LAST_MS)) return refuse('an invalid Date', 'check it first', pointer)
      return withoutMembers(value, pointer, Date.prototype.toISOString.call(value))
    },
  },
  {
    name: 'URL',
    is: isExactly(URL),
    json: (value: URL, pointer) => withoutMembers(value, pointer, URL.prototype.toString.call(value)),
  },
  {
    name: 'Array',
    is: (value) => Array.isArray(value) && isExactly(Array)(value),
    json: (value: unknown[], pointer, inner) => {
      if (Reflect.ownKeys(value).length !== value.length + 1)
        refuse('a list with holes, or with members beside its items', 'pass a plain list', pointer)
      return Array.from({ length: value.length }, (_, at) =>
        inner(memberOf(value, String(at), pointer), `${pointer}/${at}`),
      )
    },
  },
  {
    name: 'Set',
    is: isExactly(Set),
    json: (value: Set<unknown>, pointer, inner) => {
      const items: Json[] = []
      Set.prototype.forEach.call(value, (item) => items.push(inner(item, `${pointer}/${items.length}`)))
      const sorted = items.map((item) => ({ item, text: canonicalJson(item) }))
      sorted.sort((a, b) => (a.text < b.text ? -1 : 1))
      if (sorted.some(({ text }, at) => text === sorted[at - 1]?.text))
        refuse('a Set with two items that are equal in JSON', 'remove one', pointer)
      return withoutMembers(
        value,
        pointer,
        sorted.map(({ item }) => item),
      )
    },
  },
  {
    name: 'Map',
    is: isExactly(Map),
    json: (value: Map<unknown, unknown>, pointer, inner) => {
      const members: [string, Json][] = []
      Map.prototype.forEach.call(value, (member, key) => {
        if (typeof key !== 'string') refuse('a Map with a key that is no text', 'use text', pointer)
        members.push([key as string, inner(member, pointer + pointerStep(key as string))])
      })
      return withoutMembers(value, pointer, Object.fromEntries(members))
    },
  },
  {
    name: 'object',
    is: isPlain,
    json: (value: object, pointer, inner) => {
      const members = Reflect.ownKeys(value).flatMap((key) => {
        if (typeof key === 'symbol') return refuse(`the member ${String(key)}`, PLAIN, pointer)
        const member = memberOf(value, key, pointer)
        return member === undefined ? [] : [[key, inner(member, pointer + pointerStep(key))] as const]
      })
      return Object.fromEntries(members)
    },
  },
  {
    name: 'buffer',
    remedy: 'send it as text, base64 for instance',
    is: (value) =>
      ArrayBuffer.isView(value) || /^\[object (?:(?:Shared)?ArrayBuffer|Blob|File)\]$/.test(tagOf(value)),
  },
  {
    name: 'function',
    remedy: 'leave it out',
    is: (value) => typeof value === 'function' || typeof value === 'symbol' || value === undefined,
  },
  {
    name: 'other',
    remedy: 'pass a plain object, or give the tool a schema with a codec',
    is: () => true,
  },
]

const FIRST_MS = Date.parse('0000-01-01T00:00:00.000Z')
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z')
/** The depth at which a value is considered cyclic. */
const DEEPEST = 512
const MOST_VALUES = 1_000_000

/** @throws InvalidPayload for a value that is refused, with its class and its place (RFC 6901) */
export function toJson(value: unknown, pointer = ''): Json {
  let [depth, count] = [0, 0]
  const convert: Convert = (one, at) => {
    if (depth >= DEEPEST) return refuse('an object that is nested too deeply, or in itself', 'pass less', '')
    if (++count > MOST_VALUES) return refuse(`more than ${MOST_VALUES} values`, 'pass less', '')
    depth++
    const kind = KINDS.find(({ is }) => is(one))
    const json = kind?.json?.(one as never, at, convert) ?? (one === null ? null : refuseKind(kind, one, at))
    depth--
    return json
  }
  return convert(value, pointer)
}

/**
 * The arguments of a call as a frozen JSON object.
 *
 * @throws InvalidPayload
 */
export function toPayload(value: unknown, what = 'the payload'): Payload {
  try {
    const json = toJson(value)
    if (typeof json === 'object' && json !== null && !Array.isArray(json)) return frozenCopy(json as Payload)
  } catch (cause) {
    const { places = [] } = cause as { readonly places?: readonly string[] }
    throw new InvalidPayload(`${what} is not JSON: ${reasonOf(cause)}`, { cause, places })
  }
  throw new InvalidPayload(`${what} is no JSON object: arguments have names`)
}

const reasonOf = (cause: unknown): string =>
  cause instanceof InvalidPayload ? cause.reason : messageOf(cause)

function refuse(what: string, remedy: string, pointer: string): never {
  const at = pointer === '' ? '' : ` at ${pointer}`
  throw new InvalidPayload(`${what}${at}: ${remedy}`, { places: pointer === '' ? [] : [pointer] })
}

function refuseKind(kind: Kind | undefined, value: unknown, pointer: string): never {
  return refuse(nameOf(value), kind?.remedy ?? '', pointer)
}

function nameOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `a value of type ${typeof value}`
  const { name } = (value.constructor ?? {}) as { readonly name?: unknown }
  return typeof name === 'string' && name !== ''
    ? `an object of class ${name}`
    : 'an object of a class without a name'
}

const tagOf = (value: unknown): string => Object.prototype.toString.call(value)

/** @throws InvalidPayload for an accessor and for a hidden member, which reviewers would not see */
function memberOf(owner: object, key: string, pointer: string): unknown {
  const own = Object.getOwnPropertyDescriptor(owner, key)
  if (own === undefined || !('value' in own) || !own.enumerable)
    return refuse('an accessor or a hidden member', PLAIN, pointer + pointerStep(key))
  return own.value as unknown
}

/** @throws InvalidPayload for members beside the value */
function withoutMembers(value: object, pointer: string, json: Json): Json {
  return Reflect.ownKeys(value).length === 0
    ? json
    : refuse(`${nameOf(value)} with members of its own`, 'pass a plain one', pointer)
}
