import { adminGuards } from '../auth/administrator.ts'
import type { Deps } from '../core/deps.ts'
import { type Acting, destination } from './destinations.ts'
import { record } from '../core/event-record.ts'
import { enqueueOne } from './outbox.ts'
import { transact } from '../core/transact.ts'

/** Sends a test event, with the same outbox and guard as every delivery. @throws GatewayError `not_found` */
export async function pingDestination(deps: Deps, acting: Acting & { readonly id: string }): Promise<void> {
  const { tenant, id, actor } = acting
  await transact(deps, tenant, async () => {
    const proof = await adminGuards(deps, acting)
    const one = await destination(deps, tenant, id)
    const at = deps.store.now()
    const notice = { at, body: { type: 'webhook.ping' as const, tenant_id: tenant } }
    const { guards, writes } = await enqueueOne(deps, tenant, { notice, destination: one })
    return {
      answer: undefined,
      guards: [...guards, ...proof],
      writes,
      evidence: [record(at, actor, { tenant }, { type: 'webhook.pinged', details: { id } })],
      landed: () => deps.enqueued(tenant),
    }
  })
}
