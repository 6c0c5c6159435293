import { expect } from 'vitest'
import type { Decision } from '../../../src/contract/agent.ts'
import type { Answer } from '../../gateway-fixture.ts'
import type { Expected } from './calls.ts'

/** Events that all games together must meet, so that their agreement means something. */
export const SEEN = [
  'submit allow',
  'submit reject',
  'submit reject frozen: ',
  'submit pending_review',
  'submit allow replayed',
  'submit pending_review replayed',
  'submit 400 invalid_policy_input',
  'submit 401 unauthenticated',
  'submit 422 idempotency_mismatch',
  'poll pending_review',
  'poll changes_requested',
  'poll approved',
  'poll approved with a token',
  'approved by time alone',
  'held by a limit',
  'given back to a limit',
  'raised',
  'taken back',
  'poll rejected',
  'poll rejected expired: ',
  'poll rejected frozen: ',
  'poll rejected policy_changed: ',
  'poll rejected reviewer_removed: ',
  'poll rejected withdrawn: ',
  'poll 404 not_found',
  'reissue approved with a token',
  'reissue pending_review',
  'reissue 404 not_found',
  'reissue 409 not_pending',
  'reissue 409 proof_used',
  'reissue 409 too_many_proofs',
  'validate valid',
  'validate invalid',
  'validate used',
  'validate expired',
  'vote pending_review',
  'vote approved',
  'vote rejected',
  'vote changes_requested',
  'vote 401 unauthenticated',
  'vote 403 already_voted',
  'vote 403 not_eligible',
  'vote 403 self_review',
  'vote 404 not_found',
  'vote 409 not_pending',
  'vote 412 stale_revision',
  'vote 428 revision_required',
  'withdraw rejected withdrawn: ',
  'withdraw rejected',
  'withdraw 404 not_found',
  'withdraw 409 not_pending',
  'outcome 201',
  'outcome 200',
  'outcome 404',
  'outcome 409',
  'revise pending_review',
  'revise rejected',
  'revise 400 invalid_policy_input',
  'revise 400 invalid_revision',
  'revise 409 duplicate_revision',
  'revise 409 not_pending',
  'revise 409 unknown_thread',
]

/** Returns an answer in the words of the model. */
function said(answer: Answer<object>): Expected & { readonly message?: string } {
  const { status: http, headers, problem } = answer
  if (http >= 400) return { http, code: problem.code }
  const body = (answer.body ?? {}) as Partial<Decision & Expected>
  const { status, thread_id, action_hash, message, valid, reason, revision, token_expires_at } = body
  const members = { status, thread_id, action_hash, message, valid, reason, revision }
  const given = Object.entries(members).filter(([, member]) => member !== undefined)
  const until = token_expires_at === undefined ? {} : { tokenUntil: Date.parse(token_expires_at) }
  const replayed = headers.has('idempotent-replayed') ? { replayed: true } : {}
  return { http, ...(Object.fromEntries(given) as object), ...until, ...replayed }
}

/** Expects the two to be equal, and returns the name of the event. */
export function compare(act: string, answer: Answer<object>, expected: Expected): string {
  const { message = '', ...told } = said(answer)
  const { starts = '', thread_id, task_id, ...rest } = expected
  const id = thread_id === 'new' ? (expect.stringMatching(/^thr_/) as string) : thread_id
  expect(told, act).toEqual({ ...rest, ...(id !== undefined && { thread_id: id }) })
  if (task_id !== undefined) expect((answer.body as Decision).task_id, act).toBe(task_id)
  expect(message.startsWith(starts), `${act}: ${message}`).toBe(true)
  const { http, code, status, valid, reason } = expected
  const name = code === undefined ? (status ?? (valid ? 'valid' : reason)) : `${http} ${code}`
  const extra = expected.replayed ? ' replayed' : expected.tokenUntil === undefined ? '' : ' with a token'
  return `${act} ${name}${starts && ` ${starts}`}${extra}`
}
