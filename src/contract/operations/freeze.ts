/** The part of the admin API that freezes and unfreezes (docs/operations.md). */
import type { Operations } from '../operation.ts'

export const FREEZE = {
  freeze: {
    method: 'POST',
    path: '/api/admin/freeze',
    access: 'admin',
    summary:
      'Stop an agent, a tool, a reviewer or a tenant at once; calls in progress are cancelled for good',
    body: 'FreezeRequest',
    answers: { 200: 'Frozen' },
    refusals: ['not_found', 'too_many_freezes', 'outcome_unknown'],
  },
  unfreeze: {
    method: 'POST',
    path: '/api/admin/unfreeze',
    access: 'admin',
    summary: 'End a freeze, so that new calls are decided again',
    body: 'FreezeRequest',
    answers: { 204: null },
    refusals: ['not_found', 'outcome_unknown'],
  },
  list_freezes: {
    method: 'GET',
    path: '/api/admin/freezes',
    access: 'admin',
    summary: 'List the freezes in force',
    query: 'FreezesQuery',
    answers: { 200: 'FreezeList' },
    refusals: ['not_found'],
  },
} as const satisfies Operations
