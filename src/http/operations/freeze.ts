import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { FreezeRequest, FreezesQuery } from '../../contract/freeze.ts'
import type { Administrator } from '../../gateway/auth/administrator.ts'
import { freeze, listFreezes, unfreeze } from '../../gateway/admin/freeze.ts'
import { type AdminRight, administratorOf } from '../access/admin-right.ts'
import type { HttpDeps } from '../deps.ts'
import { gatewayFor } from '../tracing.ts'

/** Freezing (docs/operations.md): the admin key, or the admin role in its own tenant. */
export function freezeRoutes(
  app: FastifyInstance,
  http: HttpDeps,
  rightIn: (request: FastifyRequest, tenant: string) => AdminRight,
): void {
  const { schemas } = http
  const asked = (request: FastifyRequest): { readonly by: Administrator; readonly body: FreezeRequest } => {
    const body = schemas.check<FreezeRequest>('FreezeRequest', request.body)
    return { by: administratorOf(rightIn(request, body.tenant)), body }
  }

  app.post('/freeze', (request) => {
    const { by, body } = asked(request)
    return freeze(gatewayFor(request, http), by, body)
  })

  app.post('/unfreeze', async (request, reply) => {
    const { by, body } = asked(request)
    await unfreeze(gatewayFor(request, http), by, body)
    return reply.code(204).send()
  })

  app.get('/freezes', (request) => {
    const { tenant } = schemas.check<FreezesQuery>('FreezesQuery', { ...(request.query as object) })
    rightIn(request, tenant)
    return listFreezes(http.gateway, tenant)
  })
}
