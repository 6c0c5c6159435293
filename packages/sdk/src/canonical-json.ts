import type { Json } from './types.ts'

/** The depth at which a value is considered cyclic. The gateway's limit is far lower (docs/limits.md, JSON_DEPTH). */
const DEEPEST = 512
/**
 * Maximum number of values. An object in many places, for example through YAML aliases, could expand without end. The
 * gateway's limit is far lower (JSON_VALUES).
 */
const MOST_VALUES = 1_000_000

/**
 * Returns the RFC 8785 text. Members are sorted by UTF-16 code units, and numbers and strings are printed as in
 * ECMAScript.
 *
 * @throws TypeError for a value that JSON cannot express, with its place (RFC 6901)
 */
export function canonicalJson(value: Json): string {
  return write(value, { path: [], values: 0 })
}

interface Place {
  readonly path: (string | number)[]
  /** The number of values written so far. */
  values: number
}

/** @param value any value, because callers in JavaScript are not bound by the types */
function write(value: unknown, place: Place): string {
  if (++place.values > MOST_VALUES) throw problem(`more than ${MOST_VALUES} values`)
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return text(value, place)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw problem(`the number ${value}`, place)
    return JSON.stringify(value)
  }
  if (typeof value !== 'object') throw problem(`a value of type ${typeof value}`, place)
  if (place.path.length >= DEEPEST) throw problem('an object that is nested too deeply, or in itself')
  if (Array.isArray(value)) return `[${itemsOf(value, place).join(',')}]`
  if (!isPlain(value)) throw problem('an object that is no plain one', place)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${text(key, place)}:${below(member, key, place)}`).join(',')}}`
}

/** Reads items by index, because `map` skips holes and `[ , 1]` would become `[1]` or worse. */
function itemsOf(list: readonly unknown[], place: Place): string[] {
  const items: string[] = []
  for (let i = 0; i < list.length; i++) {
    if (!Object.hasOwn(list, i)) throw problem('a hole in a list', { path: [...place.path, i] })
    items.push(below(list[i], i, place))
  }
  return items
}

function below(value: unknown, key: string | number, place: Place): string {
  place.path.push(key)
  const written = write(value, place)
  place.path.pop()
  return written
}

function text(value: string, place: Place): string {
  if (!value.isWellFormed()) throw problem('a string with a lone surrogate', place)
  return JSON.stringify(value)
}

/** Returns a step of a JSON Pointer, with its slash. */
export const pointerStep = (key: string | number): string =>
  `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`

function problem(what: string, { path }: Pick<Place, 'path'> = { path: [] }): TypeError {
  const pointer = path.map(pointerStep).join('')
  return new TypeError(`JSON cannot hold ${what}${pointer === '' ? '' : `, at ${pointer}`}`)
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Returns the lowercase hex SHA-256, by Web Crypto. */
export async function sha256(input: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(input))
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/**
 * Returns the SDK's action hash, which is the SHA-256 of the whole immutable envelope (docs/agent-api.md, ActionHash).
 * With `nonce`, two equal actions need two separate approvals.
 */
export function actionHash(
  action: { task_id: string; tool_name: string; payload: Payload } & Which,
): Promise<string> {
  return sha256(canonicalJson({ v: 1, ...action }))
}

/** Members that distinguish equal actions. */
export interface Which {
  readonly nonce: string
  /** The number of earlier allowed and used runs of this action; absent for the first run. */
  readonly again?: number
}

type Payload = { readonly [key: string]: Json }

/**
 * Returns a deep-frozen copy. The hashed and approved payload runs, even when the caller changes the original object.
 */
export function frozenCopy<T extends Json>(value: T): T {
  const copy = JSON.parse(canonicalJson(value)) as T
  return freeze(copy)
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(freeze)
    Object.freeze(value)
  }
  return value
}
