import type { ErasureRequest } from '../../contract/erasure.ts'
import type { ERASURE } from '../../contract/operations/erasure.ts'
import type { Selection } from '../../domain/erasure.ts'
import { erase, previewErasure } from '../../gateway/admin/erase.ts'
import { finishErasure } from '../../gateway/jobs/erasing.ts'
import { answer, type Handlers } from '../core/handler.ts'

/** The handler of erasures (docs/how-to/erase-data.md). Only the admin key erases. */
export const erasureHandlers: Handlers<typeof ERASURE> = {
  erase: async ({ gateway, body }) => {
    const { tenant, reason, preview = false, in_store: inStore = false } = body
    const selection = selectionOf(body)
    if (preview) return answer(200, await previewErasure(gateway, { tenant, selection, inStore }))
    const finish = (): Promise<void> => finishErasure(gateway, tenant)
    return answer(200, await erase(gateway, { tenant, selection, inStore, reason, finish }))
  },
}

/** The schema admits exactly one selection. */
function selectionOf({ task_id, thread_id, agent, field = '', equals = '' }: ErasureRequest): Selection {
  if (task_id !== undefined) return { task_id }
  if (thread_id !== undefined) return { thread_id }
  return agent === undefined ? { field, equals } : { agent }
}
