/** The part of the admin API that stops agents at once (docs/operations.md). */
import type { Operations } from '../operation.ts'

export const FREEZE = {
  freeze: {
    method: 'POST',
    path: '/api/admin/freeze',
    access: 'admin',
    summary: 'Stop an agent, a tool or a tenant at once; what is under way never comes back to life',
    body: 'FreezeRequest',
    answers: { 200: 'Frozen' },
    refusals: [404, 409],
  },
  unfreeze: {
    method: 'POST',
    path: '/api/admin/unfreeze',
    access: 'admin',
    summary: 'Let new calls through again',
    body: 'FreezeRequest',
    answers: { 204: null },
    refusals: [404],
  },
  listFreezes: {
    method: 'GET',
    path: '/api/admin/freezes',
    access: 'admin',
    summary: 'What is frozen now',
    query: 'FreezesQuery',
    answers: { 200: 'FreezeList' },
    refusals: [404],
  },
} as const satisfies Operations
