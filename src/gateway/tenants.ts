import type { Deps } from './deps.ts'
import { SYSTEM, TENANTS_INDEX } from './records.ts'
import { storeCall, transact } from './transact.ts'

/** Timers walk the tenants that ever had a key or a link: nobody else can have a thread. Written first, so that none is forgotten. */
export async function registerTenant(deps: Deps, tenant: string): Promise<void> {
  const entry = { op: 'index', index: TENANTS_INDEX, member: tenant, to: 0 } as const
  await transact(deps, SYSTEM, () => Promise.resolve({ answer: undefined, writes: [entry] }))
}

const MOST_TENANTS = 10_000

/** @throws GatewayError `store_unavailable` */
export async function listTenants(deps: Deps): Promise<string[]> {
  const entries = await storeCall(() => deps.store.range(SYSTEM, TENANTS_INDEX, { limit: MOST_TENANTS }))
  return entries.map(({ member }) => member)
}
