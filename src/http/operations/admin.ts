import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { EvidenceQuery, ExplainRequest, IssueKey } from '../../contract/admin.ts'
import type { CheckpointsQuery } from '../../contract/checkpoint.ts'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { LoginLink } from '../../contract/session.ts'
import { parseCredential } from '../../domain/credential.ts'
import { adminEntry } from '../../gateway/auth/administrator.ts'
import { listCheckpoints } from '../../gateway/jobs/checkpoints.ts'
import { explainPolicies } from '../../gateway/admin/explain-policies.ts'
import { exportEvidence } from '../../gateway/admin/export-evidence.ts'
import { issueKey, revokeKey } from '../../gateway/auth/keys.ts'
import { issueLink } from '../../gateway/auth/login-links.ts'
import { showPolicies } from '../../gateway/admin/show-policies.ts'
import { endSessions } from '../../gateway/auth/sign-out.ts'
import type { AdminRight } from '../access/admin-right.ts'
import { bearerOf, requireAdmin, reviewerOf, sessionOf, takePlace } from '../access/auth.ts'
import { acceptStrictJson } from '../wire/strict-json.ts'
import type { HttpDeps } from '../deps.ts'
import { freezeRoutes } from './freeze.ts'
import { gatewayFor } from '../tracing.ts'
import { webhookRoutes } from './webhooks.ts'
import { linkUrl } from '../access/same-origin.ts'

/** The admin plane (design.md section 6). Only the admin key issues anybody's credentials. */
export function adminRoutes(app: FastifyInstance, http: HttpDeps): void {
  app.decorateRequest('adminRight')
  app.addHook('onRequest', async (request, reply) => {
    const right = await rightOf(request, http)
    if (right.kind === 'reviewer') takePlace(http, reply, `${right.tenant}/${right.id}`)
    request.adminRight = right
  })
  acceptStrictJson(app)
  for (const kind of ['agent', 'reviewer'] as const) keyRoutes(app, http, kind)
  webhookRoutes(app, http, rightIn)
  freezeRoutes(app, http, rightIn)
  signInRoutes(app, http)

  app.get('/policies', () => Promise.resolve(showPolicies(http.gateway, http.shadowCounts)))

  app.post('/policies/explain', (request) => {
    const { agent, ...asked } = http.schemas.check<ExplainRequest>('ExplainRequest', request.body)
    const full = { ...asked, agent: agentFor(request, agent) } as Parameters<typeof explainPolicies>[1]
    return explainPolicies(gatewayFor(request, http), full, request.adminRight?.kind === 'reviewer')
  })

  app.get('/checkpoints', (request) => {
    const query = http.schemas.check<CheckpointsQuery>('CheckpointsQuery', { ...(request.query as object) })
    rightIn(request, query.tenant)
    return listCheckpoints(http.gateway, http.logIdentity, query)
  })

  app.get('/evidence', (request, reply) => {
    const query = http.schemas.check<EvidenceQuery>('EvidenceQuery', { ...(request.query as object) })
    const right = rightIn(request, query.tenant)
    const range = {
      tenant: query.tenant,
      after: Number(query.after ?? 0),
      limit: Math.min(Number(query.limit ?? LIMITS.EVIDENCE_PAGE_ITEMS), LIMITS.EVIDENCE_PAGE_ITEMS),
    }
    const lines = exportEvidence(gatewayFor(request, http), range, { kind: right.kind, id: right.id })
    return reply.type('application/x-ndjson').send(Readable.from(lines))
  })
}

async function rightOf(request: FastifyRequest, http: HttpDeps): Promise<AdminRight> {
  if (!isReviewer(request)) {
    requireAdmin(request, http.adminKeyHash)
    return { kind: 'admin', id: 'admin' }
  }
  const caller = await reviewerOf(request, http)
  const { id } = adminEntry(http.gateway.policies.current(), caller)
  return { kind: 'reviewer', id, tenant: caller.tenant, caller }
}

function isReviewer(request: FastifyRequest): boolean {
  const bearer = bearerOf(request)
  if (bearer !== undefined) return parseCredential('reviewer', bearer) !== undefined
  return sessionOf(request) !== undefined
}

/** Another tenant's things are as absent as things that never were. */
function rightIn(request: FastifyRequest, tenant: string): AdminRight {
  const right = request.adminRight
  if (right === undefined) throw new GatewayError('unauthenticated', 'the admin key is needed')
  if (right.kind === 'reviewer' && right.tenant !== tenant)
    throw new GatewayError('not_found', 'no such tenant')
  return right
}

/** Who is taken to propose the call; an administrator of one tenant asks about agents of that tenant only. */
function agentFor(request: FastifyRequest, agent: string | undefined): string {
  const right = request.adminRight
  const named = agent ?? (right?.kind === 'reviewer' ? `${right.tenant}/test` : 'test/test')
  rightIn(request, named.split('/')[0] ?? '')
  return named
}

interface HolderPath {
  Params: { tenant: string; id: string }
}

function keyRoutes(app: FastifyInstance, http: HttpDeps, kind: 'agent' | 'reviewer'): void {
  const path = `/${kind}s/:tenant/:id/key`
  app.post<HolderPath>(path, async (request, reply) => {
    requireAdminKey(request)
    const { overlap_ms: overlapMs = 0 } = http.schemas.check<IssueKey>('IssueKey', request.body ?? {})
    const issued = await issueKey(gatewayFor(request, http), { kind, ...request.params }, { overlapMs })
    return reply.code(201).send(issued)
  })
  app.delete<HolderPath>(path, async (request, reply) => {
    requireAdminKey(request)
    await revokeKey(gatewayFor(request, http), { kind, ...request.params })
    return reply.code(204).send()
  })
}

/** How reviewers get in without a key, and how they are put out. */
function signInRoutes(app: FastifyInstance, http: HttpDeps): void {
  app.post<HolderPath>('/reviewers/:tenant/:id/login-link', async (request, reply) => {
    requireAdminKey(request)
    const { token, expiresAt } = await issueLink(gatewayFor(request, http), request.params)
    const link: LoginLink = {
      url: linkUrl(http.site(), token),
      expires_at: new Date(expiresAt).toISOString(),
    }
    return reply.code(201).send(link)
  })
  app.delete<HolderPath>('/reviewers/:tenant/:id/sessions', async (request, reply) => {
    requireAdminKey(request)
    await endSessions(gatewayFor(request, http), request.params)
    return reply.code(204).send()
  })
}

function requireAdminKey(request: FastifyRequest): void {
  if (request.adminRight?.kind === 'admin') return
  throw new GatewayError('not_permitted', 'only the admin key issues and revokes credentials')
}

declare module 'fastify' {
  interface FastifyRequest {
    adminRight?: AdminRight
  }
}
