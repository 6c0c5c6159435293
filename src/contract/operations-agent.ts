/** The agent API (docs/agent-api.md). */
import { LIMITS } from './limits.ts'
import type { Header, Operation } from './operation.ts'

const IDEMPOTENCY: Header = {
  name: 'Idempotency-Key',
  description: `1 to ${LIMITS.IDEMPOTENCY_KEY_CHARS} visible ASCII characters; a retry under the same key gets the first answer.`,
}
const REPLAYED: Header = {
  name: 'Idempotent-Replayed',
  description:
    '`true` on an answer that was given before under this key: an allow that somebody may have used.',
}
const PREFER: Header = {
  name: 'Prefer',
  description: `\`wait=N\` (RFC 7240) holds the poll up to N <= ${LIMITS.WAIT_SECONDS} seconds while the thread is pending_review.`,
}
export const AGENT_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/api/agent/tasks/{taskID}/requests',
    id: 'submit',
    plane: 'agent',
    summary: 'Evaluate a proposed tool call',
    body: 'DecisionRequest',
    headers: [IDEMPOTENCY],
    answerHeaders: [REPLAYED],
    answers: { 200: 'Decision' },
    refusals: [400, 401, 413, 415, 422, 429, 503],
  },
  {
    method: 'get',
    path: '/api/agent/decisions',
    id: 'poll',
    plane: 'agent',
    summary: 'Read the decision on a thread; the first approved read carries the approval token',
    query: 'PollQuery',
    headers: [PREFER],
    answers: { 200: 'Decision' },
    refusals: [400, 401, 404, 429, 503],
  },
  {
    method: 'post',
    path: '/api/agent/approvals/validate',
    id: 'validate',
    plane: 'agent',
    summary: 'Redeem an approval token exactly once; inspect `valid`, the status alone is never approval',
    body: 'ApprovalValidationRequest',
    answers: { 200: 'ApprovalValidationResult' },
    refusals: [401, 429, 503],
  },
  {
    method: 'post',
    path: '/api/agent/tasks/{taskID}/events',
    id: 'record',
    plane: 'agent',
    summary: 'Log evidence, or submit a revision of the action under review',
    body: 'AgentEvent',
    answers: { 201: 'EventReceipt' },
    refusals: [400, 401, 409, 413, 415, 429, 503],
  },
  {
    method: 'post',
    path: '/api/agent/threads/{thread_id}/withdrawals',
    id: 'withdraw',
    plane: 'agent',
    summary: 'Withdraw a call: its thread ends, and its approval is void',
    body: 'WithdrawalRequest',
    answers: { 200: 'Decision' },
    refusals: [400, 401, 404, 409, 413, 415, 429, 503],
  },
  {
    method: 'post',
    path: '/api/agent/tools/resolve',
    id: 'resolve',
    plane: 'agent',
    summary: 'The contracts of the tools that this agent may use',
    body: 'ResolveRequest',
    answers: { 200: 'ResolveResult' },
    refusals: [400, 401, 413, 415, 429, 503],
  },
]
