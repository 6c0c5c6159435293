import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../../contract/errors.ts'
import { parseCredential } from '../../domain/credential.ts'
import type { reviewerEntry } from '../../gateway/auth/standing.ts'
import type { HttpDeps } from '../core/deps.ts'
import { bearerOf, isAttended, requireAdmin, reviewerOf, sessionOf } from './auth.ts'
import type { Administrator } from '../../gateway/auth/administrator.ts'
import type { AdminRight } from '../core/handler.ts'

/** The right in the form that verbs expect. @throws GatewayError `not_found` in another tenant */
export function administratorOf(right: AdminRight, tenant: string): Administrator {
  requireTenant(right, tenant)
  const { kind, id } = right
  return { actor: { kind, id }, ...(right.kind === 'reviewer' && { caller: right.caller }) }
}

/** Refuses access to another tenant with the same error as for a missing tenant. @throws GatewayError `not_found` */
export function requireTenant(right: AdminRight, tenant: string): void {
  if (right.kind === 'reviewer' && right.tenant !== tenant)
    throw new GatewayError('not_found', 'no such tenant')
}

/**
 * The right of the caller; `entryOf` admits reviewers.
 *
 * @throws GatewayError `unauthenticated`, `not_permitted`, `foreign_origin`, `not_ready`
 */
export async function rightOf(
  request: FastifyRequest,
  http: HttpDeps,
  entryOf: typeof reviewerEntry,
): Promise<AdminRight> {
  if (!isReviewer(request)) {
    requireAdmin(request, http.adminKeys)
    return { kind: 'admin', id: 'admin' }
  }
  const caller = await reviewerOf(request, http, isAttended(request))
  const { id } = entryOf(http.gateway.policies.current(), caller)
  return { kind: 'reviewer', id, tenant: caller.tenant, caller }
}

function isReviewer(request: FastifyRequest): boolean {
  const bearer = bearerOf(request)
  if (bearer !== undefined) return parseCredential('reviewer', bearer) !== undefined
  return sessionOf(request) !== undefined
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The right of an administrator, determined before the body is read. */
    adminRight?: AdminRight
  }
}
