import type { Operation, RequestKind } from '../../contract/operation.ts'
import { OPERATIONS } from '../../contract/operations/operations.ts'
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
export const sendersOf =
  (known: Known) =>
  (request: IncomingMessage): Sender =>
    senderOf(request, known)

function senderOf({ headers, url = '' }: IncomingMessage, { gateway, adminKeys }: Known): Sender {
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

/** Matches an escape in one of the first two segments of a path, because the router decodes `%61gent` to `agent`. */
const DISGUISED = /^\/(?:[^/?]*\/)?[^/?]*%/

/**
 * Paths of agents up to the first parameter, and paths of probes, from the table of operations. All other paths are
 * used by people.
 */
const KINDS = new Map(
  Object.values<Operation>(OPERATIONS).flatMap(({ path, admission }) =>
    admission === undefined ? [] : [[path.replace(/\{.*/, ''), admission] as const],
  ),
)
const AGENT = '/api/agent/'

/**
 * The kind of a request, from its target before routing; none for probes, which are always answered. Requests for
 * unknown agent paths will be refused after admission. Until then, such requests wait with proposals.
 */
export function kindOf(url: string): RequestKind | 'none' {
  if (!url.startsWith(AGENT)) return KINDS.get(url) ?? (DISGUISED.test(url) ? 'propose' : 'people')
  for (const [path, kind] of KINDS) if (url.startsWith(path)) return kind
  return 'propose'
}

/** The length of the body from the header; `most` when its length is unknown. */
export function bodyBytesOf({ headers }: IncomingMessage, most: number): number {
  if (headers['transfer-encoding'] !== undefined) return most
  const length = Number(headers['content-length'] ?? 0)
  return length >= 0 && length < most ? length : most
}
