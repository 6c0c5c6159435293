import { RISKS } from '../domain/decision.ts'
import type { Deps } from './deps.ts'
import { destinations } from './destinations.ts'
import { INDEX, SYSTEM } from './records.ts'
import { listTenants } from './tenants.ts'

/** Waiting threads of all tenants, by risk, and the age of the oldest in ms. */
export interface Census {
  readonly pending: ReadonlyMap<string, number>
  readonly oldestAgeMs: number
  /** Deliveries of webhooks that are still to be made. */
  readonly deliveries: number
}

const MAX_TENANTS = 10_000

/** Counts index entries where they are: nothing is read, whatever waits. */
export async function census(deps: Deps): Promise<Census> {
  const pending = new Map<string, number>(RISKS.map((risk) => [risk, 0]))
  let oldest = Infinity
  for (const tenant of await listTenants(deps)) {
    for (const risk of RISKS) {
      const index = INDEX.pending(risk)
      const [first] = await deps.store.range(tenant, index, { limit: 1 })
      if (first === undefined) continue
      oldest = Math.min(oldest, first.score)
      pending.set(risk, (pending.get(risk) ?? 0) + (await deps.store.count(tenant, index)))
    }
  }
  const oldestAgeMs = oldest === Infinity ? 0 : Math.max(0, deps.store.now() - oldest)
  return { pending, oldestAgeMs, deliveries: await waitingDeliveries(deps) }
}

async function waitingDeliveries(deps: Deps): Promise<number> {
  const tenants = await deps.store.range(SYSTEM, INDEX.webhookTenants, { limit: MAX_TENANTS })
  let waiting = 0
  for (const { member: tenant } of tenants)
    for (const { id } of await destinations(deps, tenant))
      waiting += await deps.store.count(tenant, INDEX.outbox(id))
  return waiting
}
