import type { FastifyInstance, FastifyRequest } from 'fastify'
import { GatewayError } from '../../contract/errors.ts'
import type {
  CreateWebhook,
  DeliveriesQuery,
  RedeliverRange,
  RotateSecret,
  WebhooksQuery,
} from '../../contract/webhook.ts'
import { listDeliveries, redeliver, redeliverRange } from '../../gateway/webhooks/deliveries.ts'
import {
  type Acting,
  createDestination,
  deleteDestination,
  listDestinations,
  noSuchWebhook,
  pauseDestination,
  resumeDestination,
  rotateSecret,
  showDestination,
  tenantOfWebhook,
} from '../../gateway/webhooks/destinations.ts'
import { pingDestination } from '../../gateway/webhooks/ping.ts'
import { type AdminRight, administratorOf } from '../access/admin-right.ts'
import type { HttpDeps } from '../deps.ts'
import { gatewayFor } from '../tracing.ts'
import { lookBack } from '../problem.ts'

interface Path {
  Params: { id: string }
}
interface DeliveryPath {
  Params: { id: string; delivery: string }
}

/** Destinations of webhooks and their deliveries (docs/webhooks.md): the admin key, or the admin role in its own tenant. */
export function webhookRoutes(app: FastifyInstance, http: HttpDeps, rightIn: RightIn): void {
  const { actingIn, actingOn } = acts(rightIn)
  const { webhooks } = http
  const composeSecret = (bytes: Uint8Array): string => webhooks.composeSecret(bytes)

  app.post('/webhooks', async (request, reply) => {
    const asked = http.schemas.check<CreateWebhook>('CreateWebhook', request.body)
    const acting = actingIn(request, asked.tenant)
    const reason = webhooks.refusalOf(asked.url)
    if (reason !== undefined) throw refusedUrl(reason)
    return reply
      .code(201)
      .send(await createDestination(gatewayFor(request, http), acting, asked, composeSecret))
  })

  app.get('/webhooks', (request) => {
    const { tenant } = http.schemas.check<WebhooksQuery>('WebhooksQuery', { ...(request.query as object) })
    return listDestinations(gatewayFor(request, http), actingIn(request, tenant).tenant)
  })

  app.get<Path>('/webhooks/:id', (request) => {
    const { tenant, id } = actingOn(request)
    return showDestination(gatewayFor(request, http), tenant, id)
  })

  app.delete<Path>('/webhooks/:id', async (request, reply) => {
    await deleteDestination(gatewayFor(request, http), actingOn(request))
    return reply.code(204).send()
  })

  app.post<Path>('/webhooks/:id/rotate-secret', (request) => {
    const asked = http.schemas.check<RotateSecret>('RotateSecret', request.body ?? {})
    return rotateSecret(gatewayFor(request, http), actingOn(request), asked, composeSecret)
  })

  for (const [path, act] of [
    ['pause', pauseDestination],
    ['resume', resumeDestination],
    ['ping', pingDestination],
  ] as const)
    app.post<Path>(`/webhooks/:id/${path}`, async (request) => {
      const acting = actingOn(request)
      await act(gatewayFor(request, http), acting)
      return lookBack(() => showDestination(gatewayFor(request, http), acting.tenant, acting.id))
    })

  app.get<Path>('/webhooks/:id/deliveries', (request) => {
    const query = http.schemas.check<DeliveriesQuery>('DeliveriesQuery', { ...(request.query as object) })
    return listDeliveries(gatewayFor(request, http), actingOn(request), query)
  })

  app.post<Path>('/webhooks/:id/redeliver', async (request) => {
    const range = http.schemas.check<RedeliverRange>('RedeliverRange', request.body)
    return { count: await redeliverRange(gatewayFor(request, http), actingOn(request), range) }
  })

  app.post<DeliveryPath>('/webhooks/:id/deliveries/:delivery/redeliver', async (request, reply) => {
    await redeliver(gatewayFor(request, http), actingOn(request), request.params.delivery)
    return reply.code(204).send()
  })
}

/** What the caller may do in a tenant. @throws GatewayError when that is nothing */
type RightIn = (request: FastifyRequest, tenant: string) => AdminRight

function acts(rightIn: RightIn) {
  const actingIn = (request: FastifyRequest, tenant: string): Acting => {
    return { tenant, ...administratorOf(rightIn(request, tenant)) }
  }
  /** The admin key looks in the tenant that the id names. A reviewer looks in the own one, where another tenant's is as absent as none. */
  const actingOn = (request: FastifyRequest<Path>): Acting & { readonly id: string } => {
    const { id } = request.params
    const { adminRight } = request
    const tenant = adminRight?.kind === 'reviewer' ? adminRight.tenant : tenantOfWebhook(id)
    if (tenant === undefined) throw noSuchWebhook()
    return { ...actingIn(request, tenant), id }
  }
  return { actingIn, actingOn }
}

function refusedUrl(reason: string): GatewayError {
  return new GatewayError('invalid_request', 'this URL may not be called', {
    errors: [{ pointer: '/url', message: reason }],
  })
}
