import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { EvidenceQuery, IssueKey } from '../../contract/admin.ts'
import type { CheckpointsQuery } from '../../contract/checkpoint.ts'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { LoginLink } from '../../contract/session.ts'
import { adminEntry } from '../../gateway/auth/administrator.ts'
import { listCheckpoints } from '../../gateway/jobs/checkpoints.ts'
import { exportEvidence } from '../../gateway/admin/export-evidence.ts'
import { issueKey, revokeKey } from '../../gateway/auth/keys.ts'
import { issueLink } from '../../gateway/auth/login-links.ts'
import { listInstances } from '../../gateway/jobs/instances.ts'
import { endSessions } from '../../gateway/auth/sign-out.ts'
import { rightIn, rightOf } from '../access/admin-right.ts'
import { acceptStrictJson } from '../wire/strict-json.ts'
import type { HttpDeps } from '../deps.ts'
import { freezeRoutes } from './freeze.ts'
import { gatewayFor } from '../tracing.ts'
import { webhookRoutes } from './webhooks.ts'
import { linkUrl } from '../access/same-origin.ts'

/** The admin plane (docs/operations.md). Only the admin key issues anybody's credentials. */
export function adminRoutes(app: FastifyInstance, http: HttpDeps): void {
  app.decorateRequest('adminRight')
  app.addHook('onRequest', async (request) => {
    request.adminRight = await rightOf(request, http, adminEntry)
  })
  acceptStrictJson(app)
  for (const kind of ['agent', 'reviewer'] as const) keyRoutes(app, http, kind)
  webhookRoutes(app, http, rightIn)
  freezeRoutes(app, http, rightIn)
  signInRoutes(app, http)

  app.get('/instances', (request) => {
    requireAdminKey(request)
    return listInstances(gatewayFor(request, http))
  })
  app.get('/checkpoints', (request) => {
    const query = http.schemas.check<CheckpointsQuery>('CheckpointsQuery', { ...(request.query as object) })
    rightIn(request, query.tenant)
    return listCheckpoints(http.gateway, http.logIdentity, query)
  })

  app.get('/evidence', { exposeHeadRoute: false }, (request, reply) => {
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
