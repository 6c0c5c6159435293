import type { IncomingMessage } from 'node:http'
import type { AdminKeys } from '../../gateway/core/admin-keys.ts'
import type { Deps } from '../../gateway/core/deps.ts'
import { recognise } from '../../gateway/auth/identify.ts'
import { isAdminKey } from './admin-key.ts'

/** The names under which a request is counted before the lookup of its credential. */
export interface Sender {
  /** The tenant whose turn the request takes in the queue. */
  readonly tenant: string
  /** The name under which a late body is counted. */
  readonly holder: string
}

/** True for the names of callers whose credential was not accepted before. */
export const isUnknown = (tenant: string): boolean => tenant.startsWith('?')

const STRANGER: Sender = { tenant: '?', holder: '?' }
const ADMIN: Sender = { tenant: '!', holder: '!' }

/**
 * A key of an agent or a reviewer, or a session in a cookie. The checksum is not verified, because a credential is only
 * a claim at this point.
 */
const CREDENTIAL = /\bcs[krs]_([a-z0-9-]{1,32})_[\w-]{43,}/

/**
 * Reads the tenant from the credential. A key that was accepted before is counted under its tenant. Any other key is
 * only a claim. Claims to be of a tenant have a separate line, so that forged keys do not delay a known agent. All
 * tenants that no directory lists share one name.
 */
export function senderOf({ headers, url = '' }: IncomingMessage, { gateway, adminKeys }: Known): Sender {
  const { authorization, cookie } = headers
  const [credential, tenant] = CREDENTIAL.exec(authorization ?? cookie ?? '') ?? []
  if (tenant === undefined) {
    const isAdmin = authorization !== undefined && url.startsWith('/api/admin/')
    return isAdmin && isAdminKey(authorization, adminKeys) ? ADMIN : STRANGER
  }
  const agent = recognise(gateway, credential)
  if (agent !== undefined) return { tenant: agent.tenant, holder: agent.keyHash }
  const isNamed = gateway.policies.current()?.directory.tenants.has(tenant) === true
  return isNamed ? { tenant: `?${tenant}`, holder: `?${tenant}` } : STRANGER
}

interface Known {
  readonly gateway: Deps
  readonly adminKeys: AdminKeys
}
