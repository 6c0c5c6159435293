import type { IndexEntry } from '../../store/store.ts'
import type { Deps } from './deps.ts'
import { INDEX, SYSTEM, TENANTS_INDEX } from './records.ts'
import { storeCall, transact } from './transact.ts'

/** Timers walk the tenants that ever had a key or a link: nobody else can have a thread. Written first, so that none is forgotten. */
export async function registerTenant(deps: Deps, tenant: string): Promise<void> {
  const entry = { op: 'index', index: TENANTS_INDEX, member: tenant, to: 0 } as const
  await transact(deps, SYSTEM, () => Promise.resolve({ answer: undefined, writes: [entry] }))
}

/** How many are read at once. */
const PAGE = 10_000

/** All of them, however many: who is left out would never be looked at. @throws GatewayError `store_unavailable` */
export const listTenants = (deps: Deps): Promise<string[]> => tenantsIn(deps, TENANTS_INDEX)

/** Those that ever had a destination of webhooks. @throws GatewayError `store_unavailable` */
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
