/** The part of the admin API for legal holds (docs/data.md). */
import type { Operations } from '../operation.ts'

export const LEGAL_HOLD = {
  add_legal_hold: {
    method: 'POST',
    path: '/api/admin/legal-holds',
    access: 'adminKey',
    summary: 'Keep the threads of a task, of an agent or of a tenant, or one thread, from deletion',
    body: 'LegalHoldRequest',
    answers: { 200: 'LegalHoldAdded' },
    refusals: ['too_many_legal_holds', 'outcome_unknown'],
  },
  remove_legal_hold: {
    method: 'POST',
    path: '/api/admin/legal-holds/remove',
    access: 'adminKey',
    summary: 'End a legal hold, so that retention applies again',
    body: 'LegalHoldRequest',
    answers: { 204: null },
    refusals: ['not_found', 'outcome_unknown'],
  },
  list_legal_holds: {
    method: 'GET',
    path: '/api/admin/legal-holds',
    access: 'admin',
    summary: 'List the legal holds in force',
    query: 'LegalHoldsQuery',
    answers: { 200: 'LegalHoldList' },
    refusals: ['not_found'],
  },
} as const satisfies Operations
