import type { ErasureRequest } from '../../contract/erasure.ts'
import type { ERASURE } from '../../contract/operations/erasure.ts'
import type { Selection } from '../../domain/erasure.ts'
import { erase, previewErasure } from '../../gateway/admin/erase.ts'
import { finishErasure } from '../../gateway/jobs/erasing.ts'
import { administratorOf } from '../access/admin-right.ts'
import { answer, type Handlers } from '../core/handler.ts'

/** The handler of erasures (docs/erase.md): for the admin key, and for the admin role in its own tenant. */
export const erasureHandlers: Handlers<typeof ERASURE> = {
  erase: async ({ gateway, caller, body }) => {
    const { tenant, reason, preview = false } = body
    const by = administratorOf(caller, tenant)
    const selection = selectionOf(body)
    if (preview) return answer(200, await previewErasure(gateway, tenant, selection))
    await finishErasure(gateway, tenant)
    const erased = await erase(gateway, by, { tenant, selection, reason })
    await finishErasure(gateway, tenant)
    return answer(200, erased)
  },
}

/** The schema admits exactly one selection. */
function selectionOf({ task, thread, agent, field = '', equals = '' }: ErasureRequest): Selection {
  if (task !== undefined) return { task }
  if (thread !== undefined) return { thread }
  return agent === undefined ? { field, equals } : { agent }
}
