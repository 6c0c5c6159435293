import { ADMIN } from '../../domain/evidence.ts'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import { composeCredential, hashCredential, SECRET_BYTES } from '../../domain/credential.ts'
import { isReviewerFrozen } from '../../domain/freeze.ts'
import type { Link, Vouched } from '../../domain/session.ts'
import type { Deps } from '../core/deps.ts'
import { isoTime, record } from '../core/event-record.ts'
import { freezeGuard, freezesNow } from '../core/freezes.ts'
import { requireDirectory } from '../core/readiness.ts'
import { purged } from '../core/expiry-index.ts'
import { put, unchanged } from '../core/records.ts'
import { list } from './sessions.ts'
import { registerTenant } from '../core/tenants.ts'
import { transact, type Plan } from '../core/transact.ts'

export interface Person {
  readonly tenant: string
  readonly id: string
}

export interface IssuedLink {
  /** The token that opens one session, once. */
  readonly token: string
  readonly expiresAt: number
}

/**
 * Issues a one-time link for a reviewer, who may have several.
 *
 * @throws GatewayError `not_found` when the directory does not know the reviewer, `not_permitted` for a frozen one,
 * `not_ready`
 */
export async function issueLink(deps: Deps, { tenant, id }: Person): Promise<IssuedLink> {
  const known = requireDirectory(deps.policies.current()).tenants.get(tenant)?.reviewers.has(id)
  if (known !== true)
    throw new GatewayError(
      'not_found',
      `the directory in force knows no reviewer \`${id}\` in tenant \`${tenant}\``,
    )
  await registerTenant(deps, tenant)
  const { answer } = await transact(deps, tenant, async () => {
    const freezes = await freezesNow(deps, tenant)
    if (isReviewerFrozen(freezes.freezes, id))
      throw new GatewayError('not_permitted', `reviewer \`${id}\` is frozen: lift the freeze first`)
    const plan = newLink(deps, { tenant, id }, { ms: LIMITS.LINK_MS })
    const { token, expiresAt } = plan.answer
    const details = { reviewer: id, link_hash: hashCredential(token), expires_at: isoTime(expiresAt) }
    const issued = record(expiresAt - LIMITS.LINK_MS, ADMIN, { tenant }, { type: 'link.issued', details })
    return { ...plan, guards: [...(plan.guards ?? []), freezeGuard(freezes)], evidence: [issued] }
  })
  return answer
}

interface Kind {
  /** The lifetime of the link, ms. */
  readonly ms: number
  readonly vouched?: Vouched
}

/** Creates a link of either kind, indexed for its reviewer and for the timer. */
export function newLink(deps: Deps, { tenant, id }: Person, { ms, vouched }: Kind): Plan<IssuedLink> {
  const now = deps.store.now()
  const token = composeCredential('link', deps.random(SECRET_BYTES), tenant)
  const hash = hashCredential(token)
  const expires_at = now + ms
  const link: Link = { reviewer: id, issued_at: now, expires_at, ...(vouched && { vouched }) }
  return {
    answer: { token, expiresAt: expires_at },
    guards: [unchanged('link', hash, undefined)],
    writes: [
      put('link', hash, link),
      ...list(id, purged('link', hash), { over: expires_at, look: expires_at }),
    ],
  }
}
