import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../../contract/errors.ts'
import { parseCredential } from '../../domain/credential.ts'
import type { reviewerEntry } from '../../gateway/auth/identify.ts'
import type { HttpDeps } from '../deps.ts'
import { bearerOf, requireAdmin, reviewerOf, sessionOf } from './auth.ts'
import type { Administrator } from '../../gateway/auth/administrator.ts'
import type { Caller } from '../../gateway/core/caller.ts'

/** What an administrator may touch: everything with the admin key, the own tenant as a reviewer with the admin role. */
export type AdminRight = { readonly kind: 'admin'; readonly id: string } | TenantAdmin

interface TenantAdmin {
  readonly kind: 'reviewer'
  readonly id: string
  readonly tenant: string
  readonly caller: Caller
}

/** As verbs know it. */
export function administratorOf(right: AdminRight): Administrator {
  const { kind, id } = right
  return { actor: { kind, id }, ...(right.kind === 'reviewer' && { caller: right.caller }) }
}

/** `entryOf` says which reviewers are let in. @throws GatewayError `unauthenticated`, `not_permitted`, `foreign_origin`, `not_ready` */
export async function rightOf(
  request: FastifyRequest,
  http: HttpDeps,
  entryOf: typeof reviewerEntry,
): Promise<AdminRight> {
  if (!isReviewer(request)) {
    requireAdmin(request, http.adminKeyHash)
    return { kind: 'admin', id: 'admin' }
  }
  const caller = await reviewerOf(request, http)
  const { id } = entryOf(http.gateway.policies.current(), caller)
  return { kind: 'reviewer', id, tenant: caller.tenant, caller }
}

function isReviewer(request: FastifyRequest): boolean {
  const bearer = bearerOf(request)
  if (bearer !== undefined) return parseCredential('reviewer', bearer) !== undefined
  return sessionOf(request) !== undefined
}

/** Another tenant's things are as absent as things that never were. */
export function rightIn(request: FastifyRequest, tenant: string): AdminRight {
  const right = request.adminRight
  if (right === undefined) throw new GatewayError('unauthenticated', 'the admin key is needed')
  if (right.kind === 'reviewer' && right.tenant !== tenant)
    throw new GatewayError('not_found', 'no such tenant')
  return right
}

declare module 'fastify' {
  interface FastifyRequest {
    adminRight?: AdminRight
  }
}
