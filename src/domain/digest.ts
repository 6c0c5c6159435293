import { hash } from 'node:crypto'
import type { JsonValue } from '../contract/json.ts'
import { canonicalJson } from './canonical-json.ts'

export { canonicalJson }

/** Lowercase hex SHA-256. */
export function sha256(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex')
}

/** SHA-256 of the RFC 8785 text. */
export function digestOf(value: JsonValue): string {
  return sha256(canonicalJson(value))
}

/**
 * The hash of a leaf, SHA-256(0x00 || leaf) (RFC 6962 section 2.1). The leaf is the exact text of an evidence record.
 */
export function leafHash(leaf: string): string {
  return sha256(`\0${leaf}`)
}
