import type { FREEZE } from '../../contract/operations/freeze.ts'
import { freeze, listFreezes, unfreeze } from '../../gateway/admin/freeze.ts'
import { administratorOf, requireTenant } from '../access/admin-right.ts'
import { answer, type Handlers } from '../core/handler.ts'

/** Handlers of freezes (docs/operations.md): for the admin key, and for the admin role in its own tenant. */
export const freezeHandlers: Handlers<typeof FREEZE> = {
  freeze: async ({ gateway, caller, body }) =>
    answer(200, await freeze(gateway, administratorOf(caller, body.tenant), body)),

  unfreeze: async ({ gateway, caller, body }) => {
    await unfreeze(gateway, administratorOf(caller, body.tenant), body)
    return answer(204, null)
  },

  list_freezes: async ({ gateway, caller, query: { tenant } }) => {
    requireTenant(caller, tenant)
    return answer(200, await listFreezes(gateway, tenant))
  },
}
