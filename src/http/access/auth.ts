import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../../contract/errors.ts'
import { UNATTENDED } from '../../contract/unattended.ts'
import type { AdminKeys } from '../../gateway/core/admin-keys.ts'
import type { Caller } from '../../gateway/core/caller.ts'
import { identify } from '../../gateway/auth/identify.ts'
import { reviewerEntry } from '../../gateway/auth/standing.ts'
import { identifySession } from '../../gateway/auth/sessions.ts'
import { isAdminKey } from '../admission/admin-key.ts'
import { countOf } from '../wire/strict-json.ts'
import { cookieOf, SESSION_COOKIE } from './session-cookie.ts'
import type { HttpDeps } from '../core/deps.ts'
import { requireSameOrigin } from '../core/same-origin.ts'
import { PAGE_SECRET } from '../../contract/page-secret.ts'

/** Matches RFC 6750 section 2.1: a case-insensitive scheme (RFC 9110 section 11.1), one space, one credential. */
const BEARER = /^bearer ([A-Za-z0-9._~+/-]+=*)$/i

/** The bearer credential, or undefined when the header is missing, malformed or present twice. */
export function bearerOf(request: FastifyRequest): string | undefined {
  const { authorization } = request.headers
  if (authorization === undefined || countOf(request, 'authorization') !== 1) return undefined
  return BEARER.exec(authorization)?.[1]
}

/**
 * The session in the cookie, when the request has no bearer credential. A key takes precedence, because a program sends
 * a key on purpose. A `Basic` credential is ignored, because it is intended for a proxy.
 */
export function sessionOf(request: FastifyRequest): string | undefined {
  const { authorization } = request.headers
  const forProxy = authorization === undefined || /^basic /i.test(authorization)
  return forProxy && countOf(request, 'authorization') <= 1 ? cookieOf(request, SESSION_COOKIE) : undefined
}

/**
 * The reviewer who calls, by key or by session. A request that a person makes keeps the session open.
 *
 * @throws GatewayError `unauthenticated`, `foreign_origin`, `not_ready`, `store_unavailable`
 */
export async function reviewerOf(
  request: FastifyRequest,
  http: HttpDeps,
  attended: boolean,
): Promise<Caller> {
  const session = sessionOf(request)
  if (session === undefined) {
    const caller = await identify(http.gateway, 'reviewer', bearerOf(request))
    // refuses a reviewer who has left the directory before it judges the request; verbs check again, because a body
    // takes time
    reviewerEntry(http.gateway.policies.current(), caller)
    return caller
  }
  requireSameOrigin(request, http.site())
  const proof = { credential: session, page: pageSecretOf(request) }
  return identifySession(http.gateway, proof, attended)
}

/** The secret in the page's header; undefined when the header is missing or present twice. */
function pageSecretOf(request: FastifyRequest): string | undefined {
  const secret = request.headers[PAGE_SECRET]
  return typeof secret === 'string' && countOf(request, PAGE_SECRET) === 1 ? secret : undefined
}

/** True when a person makes the request. Pages mark the requests that they make automatically. */
export function isAttended({ headers }: FastifyRequest): boolean {
  return headers[UNATTENDED] === undefined
}

/** @throws GatewayError `unauthenticated` */
export function requireAdmin(request: FastifyRequest, adminKeys: AdminKeys): void {
  const { authorization = '' } = request.headers
  if (countOf(request, 'authorization') !== 1 || !isAdminKey(authorization, adminKeys)) {
    throw new GatewayError(
      'unauthenticated',
      'the admin key is needed: Authorization: Bearer <COUNTERSIGN_ADMIN_KEY>',
    )
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** An agent or reviewer, identified before the body is read. */
    caller?: Caller
  }
}
