import type { JsonObject, JsonValue } from '../contract/json.ts'
import { hash } from 'node:crypto'

/** Lowercase hex SHA-256. */
export function sha256(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex')
}

/** SHA-256 of the RFC 8785 text. */
export function digestOf(value: JsonValue): string {
  return sha256(canonicalJson(value))
}

/** The parts of a call that were on the screen before a vote (docs/review-api.md). */
export interface ShownParts {
  readonly thread_id: string
  readonly revision: number
  readonly revision_digest: string
  readonly bundle: string
  readonly level: string
  /** The id of the reviewer who votes: a digest of one reviewer's page fits no vote of another. */
  readonly reviewer: string
  /** Absent for a call without a heading template. */
  readonly template?: string
  readonly seen: readonly string[]
}

export function displayedDigest(parts: ShownParts): string {
  const { thread_id, revision, revision_digest, bundle, level, reviewer, template, seen } = parts
  const known = { thread_id, revision, revision_digest, bundle, level, reviewer, seen }
  return digestOf(template === undefined ? known : { ...known, template })
}

/**
 * The hash of a leaf, SHA-256(0x00 || leaf) (RFC 6962 section 2.1). The leaf is the exact text of an evidence record.
 */
export function leafHash(leaf: string): string {
  return sha256(`\0${leaf}`)
}

/**
 * Returns the RFC 8785 text of a JSON value. Equal values have equal bytes. Undefined members are omitted. This
 * function replaces the package `canonicalize`, because every decision calls it several times and it is much faster.
 * test/sdk/canonical-json.test.ts compares it with the package.
 *
 * @throws TypeError for a value that JSON cannot express, including lone surrogates, because no substitute may be
 * hashed in its place
 */
export function canonicalJson(value: JsonValue): string {
  // RFC 8785 prints strings and numbers like ECMAScript, so `JSON.stringify` is sufficient for a value whose keys are
  // in order.
  return isInOrder(value) ? JSON.stringify(value) : sortedText(value)
}

/** True when `JSON.stringify` returns the canonical text; false also for a value that JSON cannot express. */
function isInOrder(value: JsonValue | undefined): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value === 'number') return Number.isFinite(value)
  if (value === null || typeof value === 'boolean') return true
  if (typeof value !== 'object') return false
  return Array.isArray(value)
    ? areInOrder(value as readonly JsonValue[])
    : hasKeysInOrder(value as JsonObject)
}

/** Uses a loop, because `every` skips the holes of a sparse array. */
function areInOrder(list: readonly JsonValue[]): boolean {
  for (let i = 0; i < list.length; i++) if (!isInOrder(list[i])) return false
  return true
}

function hasKeysInOrder(object: JsonObject): boolean {
  let before = ''
  for (const key of Object.keys(object)) {
    const member = object[key]
    if (key < before || !key.isWellFormed() || (member !== undefined && !isInOrder(member))) return false
    before = key
  }
  return true
}

function sortedText(value: JsonValue): string {
  if (typeof value === 'string') return quoted(value)
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value)
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value !== 'object') throw new TypeError(`not a JSON value: ${typeof value}`)
  return Array.isArray(value) ? listText(value as readonly JsonValue[]) : objectText(value as JsonObject)
}

function listText(list: readonly JsonValue[]): string {
  let text = '['
  for (let i = 0; i < list.length; i++) text += (i > 0 ? ',' : '') + sortedText(list[i] as JsonValue)
  return `${text}]`
}

function objectText(object: JsonObject): string {
  let text = '{'
  for (const key of sorted(Object.keys(object))) {
    const member = object[key]
    if (member === undefined) continue
    text += `${text.length > 1 ? ',' : ''}${quoted(key)}:${sortedText(member)}`
  }
  return `${text}}`
}

/** Printable ASCII without quotes and backslashes, which needs no escape. */
const PLAIN = /^[ !#-[\]-~]*$/

function quoted(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`
  if (!text.isWellFormed()) throw new TypeError('not a JSON value: a string with a lone surrogate')
  return JSON.stringify(text)
}

/** Length above which insertion sort is no longer faster. */
const FEW = 24

/** Sorts by UTF-16 code units, in place. */
export function sorted(keys: string[]): string[] {
  if (keys.length > FEW) return keys.sort()
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string
    let at = i
    for (; at > 0 && (keys[at - 1] as string) > key; at--) keys[at] = keys[at - 1] as string
    keys[at] = key
  }
  return keys
}
