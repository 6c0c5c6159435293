import { GatewayError } from '../../contract/errors.ts'
import type { WEBHOOKS } from '../../contract/operations/webhooks.ts'
import { listDeliveries, redeliver, redeliverRange } from '../../gateway/webhooks/deliveries.ts'
import {
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
import { administratorOf } from '../access/admin-right.ts'
import type { HttpDeps } from '../core/deps.ts'
import type { Call, Handlers } from '../core/handler.ts'
import { showAfter } from '../core/problem.ts'

/**
 * Handlers of destinations and deliveries (docs/webhooks.md): for the admin key, and for the admin role in its own
 * tenant.
 */
export function webhookHandlers({ webhooks }: HttpDeps): Handlers<typeof WEBHOOKS> {
  const composeSecret = (bytes: Uint8Array): string => webhooks.composeSecret(bytes)
  return {
    create_webhook: async ({ gateway, caller, body }) => {
      const acting = actingIn(caller, body.tenant)
      const reason = body.url === undefined ? undefined : webhooks.refusalOf(body.url)
      if (reason !== undefined) throw refusedUrl(reason)
      return createDestination(gateway, acting, body, composeSecret)
    },

    list_webhooks: ({ gateway, query }) => listDestinations(gateway, query.tenant),
    show_webhook: (call) => show(call),
    delete_webhook: (call) => deleteDestination(call.gateway, actingOn(call)),
    rotate_webhook_secret: (call) => rotateSecret(call.gateway, actingOn(call), call.body, composeSecret),

    pause_webhook: (call) => showChanged(call, pauseDestination),
    resume_webhook: (call) => showChanged(call, resumeDestination),
    ping_webhook: (call) => showChanged(call, pingDestination),

    list_deliveries: (call) => listDeliveries(call.gateway, actingOn(call), call.query),
    redeliver_range: async (call) => ({
      count: await redeliverRange(call.gateway, actingOn(call), call.body),
    }),
    redeliver: (call) => redeliver(call.gateway, actingOn(call), call.params.delivery),
  }
}

type OfWebhook = Pick<Call<(typeof WEBHOOKS)['show_webhook']>, 'gateway' | 'caller' | 'params'>

/**
 * The caller's rights in a tenant.
 *
 * @throws GatewayError when the caller has no rights there
 */
const actingIn = (caller: OfWebhook['caller'], tenant: string) => ({
  tenant,
  ...administratorOf(caller, tenant),
})

/**
 * The tenant to search: the tenant in the id for the admin key, or the reviewer's own tenant. For a reviewer, another
 * tenant's webhook does not exist.
 */
function actingOn({ caller, params: { id } }: OfWebhook) {
  const tenant = caller.kind === 'reviewer' ? caller.tenant : tenantOfWebhook(id)
  if (tenant === undefined) throw noSuchWebhook()
  return { ...actingIn(caller, tenant), id }
}

function show(call: OfWebhook) {
  const { tenant, id } = actingOn(call)
  return showDestination(call.gateway, tenant, id)
}

async function showChanged(call: OfWebhook, change: typeof pauseDestination) {
  await change(call.gateway, actingOn(call))
  return showAfter(() => show(call))
}

function refusedUrl(reason: string): GatewayError {
  return new GatewayError('invalid_request', 'this URL is not allowed', {
    errors: [{ pointer: '/url', message: reason }],
  })
}
