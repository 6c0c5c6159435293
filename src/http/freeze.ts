import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { FreezeRequest, FreezesQuery } from '../contract/freeze.ts'
import type { Actor } from '../gateway/evidence.ts'
import { freeze, listFreezes, unfreeze } from '../gateway/freeze.ts'
import type { AdminRight } from './admin.ts'
import type { HttpDeps } from './deps.ts'
import { gatewayFor } from './origin.ts'

/** Freezing (design.md section 6): the admin key, or the admin role in its own tenant. */
export function freezeRoutes(
  app: FastifyInstance,
  http: HttpDeps,
  rightIn: (request: FastifyRequest, tenant: string) => AdminRight,
): void {
  const { schemas } = http
  const asked = (request: FastifyRequest): { readonly actor: Actor; readonly body: FreezeRequest } => {
    const body = schemas.check<FreezeRequest>('FreezeRequest', request.body)
    const { kind, id } = rightIn(request, body.tenant)
    return { actor: { kind, id }, body }
  }

  app.post('/freeze', (request) => {
    const { actor, body } = asked(request)
    return freeze(gatewayFor(request, http), actor, body)
  })

  app.post('/unfreeze', async (request, reply) => {
    const { actor, body } = asked(request)
    await unfreeze(gatewayFor(request, http), actor, body)
    return reply.code(204).send()
  })

  app.get('/freezes', (request) => {
    const { tenant } = schemas.check<FreezesQuery>('FreezesQuery', { ...(request.query as object) })
    rightIn(request, tenant)
    return listFreezes(http.gateway, tenant)
  })
}
