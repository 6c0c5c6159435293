import { hash } from 'node:crypto'
import { sha256 } from './digest.ts'

/**
 * Credentials (docs/agent-api.md): `<kind>_[<tenant>_]<43 base64url of 256 random bits><6 checksum>`. With the
 * checksum, scanners can find leaks, and malformed text never reaches the store. Only the SHA-256 of the whole
 * credential is stored.
 */
export type CredentialKind = 'agent' | 'reviewer' | 'session' | 'page' | 'link' | 'approval'

export const SECRET_BYTES = 32
const PREFIX: Record<CredentialKind, string> = {
  agent: 'csk',
  reviewer: 'csr',
  session: 'css',
  page: 'csp',
  link: 'csl',
  approval: 'cst',
}
const TENANT = '[a-z0-9-]{1,32}'
const SECRET = '[A-Za-z0-9_-]{43}'
const CHECKSUM_CHARS = 6

const FORMAT: Record<CredentialKind, RegExp> = {
  agent: new RegExp(`^csk_(${TENANT})_${SECRET}[A-Za-z0-9_-]{6}$`),
  reviewer: new RegExp(`^csr_(${TENANT})_${SECRET}[A-Za-z0-9_-]{6}$`),
  session: new RegExp(`^css_(${TENANT})_${SECRET}[A-Za-z0-9_-]{6}$`),
  page: new RegExp(`^csp_(${TENANT})_${SECRET}[A-Za-z0-9_-]{6}$`),
  link: new RegExp(`^csl_(${TENANT})_${SECRET}[A-Za-z0-9_-]{6}$`),
  approval: new RegExp(`^cst_()${SECRET}[A-Za-z0-9_-]{6}$`),
}

/**
 * Composes a credential; `secret` is 32 random bytes. A proof names no tenant, because it always arrives with an agent
 * key.
 */
export function composeCredential(kind: CredentialKind, secret: Uint8Array, tenant?: string): string {
  const scope = tenant === undefined ? '' : `${tenant}_`
  const head = `${PREFIX[kind]}_${scope}${Buffer.from(secret).toString('base64url')}`
  return head + checksum(head)
}

/** Returns the tenant (empty for proofs) when `text` has the right form and checksum; otherwise undefined. */
export function parseCredential(kind: CredentialKind, text: string): { tenant: string } | undefined {
  const match = FORMAT[kind].exec(text)
  if (!match) return undefined
  const head = text.slice(0, -CHECKSUM_CHARS)
  return checksum(head) === text.slice(-CHECKSUM_CHARS) ? { tenant: match[1] ?? '' } : undefined
}

/** The key of a credential's record in the store. */
export function hashCredential(text: string): string {
  return sha256(text)
}

function checksum(head: string): string {
  return hash('sha256', head, 'base64url').slice(0, CHECKSUM_CHARS)
}
