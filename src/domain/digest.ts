import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { JsonValue } from '../contract/json.ts'

/** RFC 8785 text of a JSON value: the one form in which equal values are equal bytes. */
export function canonicalJson(value: JsonValue): string {
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError('not a JSON value')
  return text
}

/** Lowercase hex SHA-256. */
export function sha256(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex')
}

/** SHA-256 over the RFC 8785 form. */
export function digestOf(value: JsonValue): string {
  return sha256(canonicalJson(value))
}

/** RFC 6962 section 2.1: the hash of a leaf is SHA-256(0x00 || leaf). The leaf is the exact text of an evidence record. */
export function leafHash(leaf: string): string {
  return createHash('sha256').update(Uint8Array.of(0)).update(leaf).digest('hex')
}
