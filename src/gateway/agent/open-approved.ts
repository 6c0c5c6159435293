import type { Decision } from '../../contract/agent.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { ReviewRequirement } from '../../domain/decision.ts'
import type { Deps } from '../core/deps.ts'
import { put, revisionId, unchanged } from '../core/records.ts'
import { listThread } from '../thread/thread-indexes.ts'
import { writeThread } from '../thread/thread-records.ts'
import { newTagKey } from '../thread/mask-sensitive.ts'
import type { Plan } from '../core/transact.ts'
import { approving } from '../thread/approval-effects.ts'
import { decisionOf, type Evaluation, evidenceOf, headingFor, payloadOf } from './evaluation.ts'
import { newThread } from './open-thread.ts'

/** The thread lives as long as the call's Idempotency-Key joins it. No reviewer has a seat. */
const BY_RULE: ReviewRequirement = {
  seats: [],
  expires_ms: LIMITS.IDEMPOTENCY_MS,
  remind_after_ms: [],
}

/**
 * Opens a thread that the allowing rule approves in the same commit (docs/policy-language.md, `proof: always`). The
 * thread is in no reviewer's queue. The agent's first poll returns the approval with its proof, and the same call joins
 * the thread.
 */
export function openApproved(deps: Deps, allowed: Evaluation): Plan<Decision> {
  const { submission, guards, at, basis } = allowed
  const outcome = { ...allowed.outcome, requirement: BY_RULE }
  const evaluation = { ...allowed, outcome }
  const { epoch, snapshot } = basis
  const thread_id = `thr_${deps.nextId()}`
  const tag_key = newTagKey(deps)
  const heading = headingFor(evaluation, tag_key)
  const { thread: opened, revision } = newThread(deps, evaluation, { thread_id, tag_key, heading })
  const approval = { at, epoch, rules: outcome.by }
  const { payload_digest: payloadDigest, nonce } = revision
  const asked = { thread_id, revision: 1, heading, payloadDigest, nonce }
  const evidence = [evidenceOf(deps, evaluation, 'decision.approved', asked)]
  const payload = payloadOf(submission.request)
  const written = writeThread(
    undefined,
    { ...opened, status: 'approved', approval },
    { at, payload, evidence },
  )
  return approving(deps, snapshot, written.thread, {
    answer: {
      thread_id,
      recommended_poll_after_seconds: 1,
      ...decisionOf(submission, 'pending_review', outcome.message),
    },
    guards: [...guards, { epoch }, unchanged('thread', thread_id, undefined)],
    writes: [
      ...written.writes,
      put('revision', revisionId(thread_id, 1), revision),
      ...listThread(written.thread),
    ],
    evidence,
    notices: written.notices,
    counted: true,
  })
}
