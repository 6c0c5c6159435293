/** The part of the admin API that stops agents at once (docs/operations.md). */
import type { Operation } from './operation.ts'

export const FREEZE_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/api/admin/freeze',
    id: 'freeze',
    plane: 'admin',
    summary: 'Stop an agent, a tool or a tenant at once; what is under way never comes back to life',
    body: 'FreezeRequest',
    answers: { 200: 'Frozen' },
    refusals: [400, 401, 403, 404, 409, 413, 415, 503],
  },
  {
    method: 'post',
    path: '/api/admin/unfreeze',
    id: 'unfreeze',
    plane: 'admin',
    summary: 'Let new calls through again',
    body: 'FreezeRequest',
    answers: { 204: null },
    refusals: [400, 401, 403, 404, 413, 415, 503],
  },
  {
    method: 'get',
    path: '/api/admin/freezes',
    id: 'listFreezes',
    plane: 'admin',
    summary: 'What is frozen now',
    query: 'FreezesQuery',
    answers: { 200: 'FreezeList' },
    refusals: [400, 401, 403, 404, 503],
  },
]
