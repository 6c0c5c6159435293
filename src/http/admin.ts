import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { EvidenceQuery } from '../contract/admin.ts'
import { LIMITS } from '../contract/limits.ts'
import { exportEvidence } from '../gateway/export-evidence.ts'
import { issueKey, revokeKey } from '../gateway/keys.ts'
import { showPolicies } from '../gateway/show-policies.ts'
import { requireAdmin } from './auth.ts'
import { acceptStrictJson } from './body.ts'
import type { HttpDeps } from './deps.ts'

/** The admin plane (design.md section 6), behind the admin key. */
export function adminRoutes(app: FastifyInstance, http: HttpDeps): void {
  app.addHook('onRequest', (request, _, done) => {
    requireAdmin(request, http.adminKeyHash)
    done()
  })
  acceptStrictJson(app)
  for (const kind of ['agent', 'reviewer'] as const) keyRoutes(app, http, kind)

  app.get('/policies', () => Promise.resolve(showPolicies(http.gateway, http.shadowCounts)))

  app.get('/evidence', (request, reply) => {
    const query = http.schemas.check<EvidenceQuery>('EvidenceQuery', { ...(request.query as object) })
    const range = {
      tenant: query.tenant,
      after: Number(query.after ?? 0),
      limit: Math.min(Number(query.limit ?? LIMITS.EVIDENCE_PAGE_ITEMS), LIMITS.EVIDENCE_PAGE_ITEMS),
    }
    return reply.type('application/x-ndjson').send(Readable.from(exportEvidence(http.gateway, range)))
  })
}

interface HolderPath {
  Params: { tenant: string; id: string }
}

function keyRoutes(app: FastifyInstance, http: HttpDeps, kind: 'agent' | 'reviewer'): void {
  const path = `/${kind}s/:tenant/:id/key`
  app.post<HolderPath>(path, async (request, reply) => {
    const issued = await issueKey(http.gateway, { kind, ...request.params })
    return reply.code(201).send(issued)
  })
  app.delete<HolderPath>(path, async (request, reply) => {
    await revokeKey(http.gateway, { kind, ...request.params })
    return reply.code(204).send()
  })
}
