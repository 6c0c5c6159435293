/** The part of the admin API that erases data (docs/how-to/erase-data.md). */
import type { Operations } from '../operation.ts'

export const ERASURE = {
  erase: {
    method: 'POST',
    path: '/api/admin/erasures',
    access: 'adminKey',
    summary: 'Erase the values and texts of a task, a thread, an agent, or a value of a field',
    body: 'ErasureRequest',
    answers: { 200: 'ErasureView' },
    refusals: ['not_found', 'under_legal_hold', 'tiles_unavailable', 'outcome_unknown'],
  },
} as const satisfies Operations
