import type { Json } from './types.ts'

/**
 * RFC 8785: members sorted by UTF-16 code units, numbers and strings as ECMAScript prints them.
 *
 * @throws TypeError for what JSON cannot hold: it must never be hashed as something else
 */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return text(value)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError('a number that JSON cannot hold')
    return JSON.stringify(value)
  }
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || !isPlain(value)) throw new TypeError('a value that JSON cannot hold')
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${text(key)}:${canonicalJson(member)}`).join(',')}}`
}

function text(value: null | boolean | string): string {
  if (typeof value === 'string' && !value.isWellFormed())
    throw new TypeError('a string with a lone surrogate')
  return JSON.stringify(value)
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Lowercase hex SHA-256, by Web Crypto. */
export async function sha256(input: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(input))
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/**
 * The action hash of the SDK: SHA-256 over the whole immutable envelope, not over the payload alone
 * (agent-api-contract.md section 2, ActionHash). `nonce` makes two equal actions two different approvals.
 */
export function actionHash(action: {
  task_id: string
  tool_name: string
  payload: Payload
  nonce: string
}): Promise<string> {
  return sha256(canonicalJson({ v: 1, ...action }))
}

type Payload = { readonly [key: string]: Json }

/** A deep-frozen copy: what is hashed and approved is what runs, whatever the caller does with its own object. */
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
