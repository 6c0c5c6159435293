import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ExplainRequest } from '../../contract/admin.ts'
import { explainPolicies } from '../../gateway/admin/explain-policies.ts'
import { showPolicies } from '../../gateway/admin/show-policies.ts'
import { reviewerEntry } from '../../gateway/auth/identify.ts'
import { rightIn, rightOf } from '../access/admin-right.ts'
import type { HttpDeps } from '../deps.ts'
import { gatewayFor } from '../tracing.ts'
import { acceptStrictJson } from '../wire/strict-json.ts'

/** The policy by which people decide: every reviewer reads it, and asks what it would make of a call. It is changed in git only. */
export function policyRoutes(app: FastifyInstance, http: HttpDeps): void {
  app.decorateRequest('adminRight')
  app.addHook('onRequest', async (request) => {
    request.adminRight = await rightOf(request, http, reviewerEntry)
  })
  acceptStrictJson(app)

  app.get('/policies', () => Promise.resolve(showPolicies(http.gateway, http.shadowCounts)))

  app.post('/policies/explain', (request) => {
    const { agent, ...asked } = http.schemas.check<ExplainRequest>('ExplainRequest', request.body)
    const full = { ...asked, agent: agentFor(request, agent) } as Parameters<typeof explainPolicies>[1]
    return explainPolicies(gatewayFor(request, http), full, request.adminRight?.kind === 'reviewer')
  })
}

/** Who is taken to propose the call; a reviewer asks about agents of the own tenant only. */
function agentFor(request: FastifyRequest, agent: string | undefined): string {
  const right = request.adminRight
  const named = agent ?? (right?.kind === 'reviewer' ? `${right.tenant}/test` : 'test/test')
  rightIn(request, named.split('/')[0] ?? '')
  return named
}
