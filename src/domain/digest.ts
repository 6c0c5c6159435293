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

/** The parts of a call that were on the screen before a vote (docs/review-api.md). */
export interface ShownParts {
  readonly thread_id: string
  readonly revision: number
  readonly revision_digest: string
  readonly bundle: string
  readonly level: string
  /** Absent for a call without a heading template. */
  readonly template?: string
  readonly seen: readonly string[]
}

export function displayedDigest(parts: ShownParts): string {
  const { thread_id, revision, revision_digest, bundle, level, template, seen } = parts
  const known = { thread_id, revision, revision_digest, bundle, level, seen }
  return digestOf(template === undefined ? known : { ...known, template })
}

/**
 * The hash of a leaf, SHA-256(0x00 || leaf) (RFC 6962 section 2.1). The leaf is the exact text of an evidence record.
 */
export function leafHash(leaf: string): string {
  return sha256(`\0${leaf}`)
}
