import type { Route } from '../route/route.ts'
import { isAdmin } from '../session/session.ts'
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
      {!isAdmin() ? <AdminsOnly /> : webhook ? <Destination id={webhook} state={state} /> : <Destinations />}
    </>
  )
}

const AdminsOnly = () => (
  <div class="empty">
    <p class="big">This page is for administrators.</p>
    <p class="quiet">
      It needs the role <code>admin</code> in <code>directory.yaml</code>. Administrators manage the webhooks
      of your tenant.
    </p>
  </div>
)
