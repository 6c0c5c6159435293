import type { LEGAL_HOLD } from '../../contract/operations/legal-hold.ts'
import { addLegalHold, listLegalHolds, removeLegalHold } from '../../gateway/admin/legal-hold.ts'
import { requireTenant } from '../access/admin-right.ts'
import { answer, type Handlers } from '../core/handler.ts'

/** Handlers of legal holds (docs/data.md). Only the admin key adds and removes them. */
export const legalHoldHandlers: Handlers<typeof LEGAL_HOLD> = {
  add_legal_hold: async ({ gateway, body }) => answer(200, await addLegalHold(gateway, body)),

  remove_legal_hold: async ({ gateway, body }) => {
    await removeLegalHold(gateway, body)
    return answer(204, null)
  },

  list_legal_holds: async ({ gateway, caller, query: { tenant } }) => {
    requireTenant(caller, tenant)
    return answer(200, await listLegalHolds(gateway, tenant))
  },
}
