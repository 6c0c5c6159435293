import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import { composeCredential, hashCredential, SECRET_BYTES } from '../../domain/credential.ts'
import type { Link } from '../../domain/session.ts'
import type { Deps } from '../core/deps.ts'
import { isoTime } from '../core/event-record.ts'
import { requireDirectory } from '../core/readiness.ts'
import { purged } from '../core/expiry-index.ts'
import { put, unchanged } from '../core/records.ts'
import { list } from './sessions.ts'
import { registerTenant } from '../core/tenants.ts'
import { transact } from '../core/transact.ts'

export interface Person {
  readonly tenant: string
  readonly id: string
}

export interface IssuedLink {
  /** Opens one session, once. */
  readonly token: string
  readonly expiresAt: number
}

/** A one-time link for a reviewer; several may be open at once. @throws GatewayError `not_found` when the directory does not know the reviewer, `not_ready` */
export async function issueLink(deps: Deps, { tenant, id }: Person): Promise<IssuedLink> {
  const known = requireDirectory(deps.policies.current()).tenants.get(tenant)?.reviewers.has(id)
  if (known !== true)
    throw new GatewayError(
      'not_found',
      `the directory in force knows no reviewer \`${id}\` in tenant \`${tenant}\``,
    )
  await registerTenant(deps, tenant)
  const { answer } = await transact(deps, tenant, () => {
    const now = deps.store.now()
    const token = composeCredential('link', deps.random(SECRET_BYTES), tenant)
    const hash = hashCredential(token)
    const link: Link = { reviewer: id, issued_at: now, expires_at: now + LIMITS.LINK_MS }
    const at = { over: link.expires_at, look: link.expires_at }
    return Promise.resolve({
      answer: { token, expiresAt: link.expires_at },
      guards: [unchanged('link', hash, undefined)],
      writes: [put('link', hash, link), ...list(id, purged('link', hash), at)],
      evidence: [
        {
          type: 'link.issued' as const,
          tenant,
          at: isoTime(now),
          actor: { kind: 'admin' as const, id: 'admin' },
          details: { reviewer: id, link_hash: hash, expires_at: isoTime(link.expires_at) },
        },
      ],
    })
  })
  return answer
}
