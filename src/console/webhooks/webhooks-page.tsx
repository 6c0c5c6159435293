import type { Route } from '../route/route.ts'
import { AdminsOnly } from '../shell/admins-only.tsx'
import { Heading } from '../shell/heading.tsx'
import { Destination } from './destination.tsx'
import { Destinations } from './destinations.tsx'

/** The destinations, and the result of each delivery. */
export function WebhooksPage({ webhook, state }: Extract<Route, { readonly page: 'webhooks' }>) {
  return (
    <>
      <div class="title">
        <Heading>{webhook === undefined ? 'Webhooks' : 'Deliveries'}</Heading>
      </div>
      <AdminsOnly instead="Administrators manage the webhooks of your tenant.">
        {webhook === undefined ? <Destinations /> : <Destination id={webhook} state={state} />}
      </AdminsOnly>
    </>
  )
}
