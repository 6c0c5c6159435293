import type { IncomingMessage } from 'node:http'
import type { Deps } from '../../gateway/core/deps.ts'
import { recognise } from '../../gateway/auth/identify.ts'
import { isAdminKey } from '../access/admin-key.ts'

/** For whom a request counts before anybody has looked up its credential. */
export interface Sender {
  /** Whose turn it is in the queue. */
  readonly tenant: string
  /** Who answers for a body that does not come. */
  readonly holder: string
}

const STRANGER: Sender = { tenant: '?', holder: '?' }
const ADMIN: Sender = { tenant: '!', holder: '!' }

/** An agent's key, a reviewer's, or a session in a cookie; a key without its checksum is one, too: it is a claim either way. */
const CREDENTIAL = /\bcs[krs]_([a-z0-9-]{1,32})_[\w-]{43,}/

/**
 * Reads the tenant from the credential. A key that was seen before counts for its tenant. Any other is only a claim: claims of a tenant
 * have a turn of their own, so that forged keys keep no known agent waiting, and tenants that no directory names are one stranger.
 */
export function senderOf({ headers, url = '' }: IncomingMessage, { gateway, adminKeyHash }: Known): Sender {
  const { authorization, cookie } = headers
  const [credential, tenant] = CREDENTIAL.exec(authorization ?? cookie ?? '') ?? []
  if (tenant === undefined) {
    const isAdmin = authorization !== undefined && url.startsWith('/api/admin/')
    return isAdmin && isAdminKey(authorization, adminKeyHash) ? ADMIN : STRANGER
  }
  const agent = recognise(gateway, credential)
  if (agent !== undefined) return { tenant: agent.tenant, holder: agent.keyHash }
  const isNamed = gateway.policies.current()?.directory.tenants.has(tenant) === true
  return isNamed ? { tenant: `?${tenant}`, holder: `?${tenant}` } : STRANGER
}

interface Known {
  readonly gateway: Deps
  readonly adminKeyHash: Uint8Array
}
