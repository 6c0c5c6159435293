import type { IndexEntry } from '../../store/store.ts'
import type { Deps } from './deps.ts'
import { SYSTEM } from './records.ts'
import { INDEX, TENANTS_INDEX } from './indexes.ts'
import { storeCall, transact } from './transact.ts'

/**
 * Registers a tenant for the timers, before its first key or link is written. Only a tenant with a key or a link can
 * have threads.
 */
export async function registerTenant(deps: Deps, tenant: string): Promise<void> {
  const entry = { op: 'index', index: TENANTS_INDEX, member: tenant, to: 0 } as const
  await transact(deps, SYSTEM, () => Promise.resolve({ answer: undefined, writes: [entry] }))
}

/** Maximum number of tenants in one read. */
const PAGE = 10_000

/** All tenants. @throws GatewayError `store_unavailable` */
export const listTenants = (deps: Deps): Promise<string[]> => tenantsIn(deps, TENANTS_INDEX)

/** Tenants that ever had a destination of webhooks. @throws GatewayError `store_unavailable` */
export const webhookTenants = (deps: Deps): Promise<string[]> => tenantsIn(deps, INDEX.webhookTenants)

async function tenantsIn(deps: Deps, index: string): Promise<string[]> {
  const tenants: string[] = []
  let after: IndexEntry | undefined
  do {
    const bounds = { limit: PAGE, ...(after && { after }) }
    const page = await storeCall(() => deps.store.range(SYSTEM, index, bounds))
    tenants.push(...page.map(({ member }) => member))
    after = page.length < PAGE ? undefined : page.at(-1)
  } while (after !== undefined)
  return tenants
}
