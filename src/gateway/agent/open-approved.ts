import type { Decision } from '../../contract/agent.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { ReviewRequirement } from '../../domain/decision.ts'
import type { Thread } from '../../domain/thread.ts'
import type { Deps } from '../core/deps.ts'
import type { Plan } from '../core/transact.ts'
import { approving } from '../thread/approval-effects.ts'
import type { Evaluation } from './evaluation.ts'
import { newThread, openingOf } from './open-thread.ts'

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
  const outcome = { ...allowed.outcome, requirement: BY_RULE }
  const evaluation = { ...allowed, outcome }
  const { at, basis } = allowed
  const { epoch, snapshot } = basis
  const opened = newThread(deps, evaluation, 'decision.approved')
  const approved: Thread = {
    ...opened.thread,
    status: 'approved',
    approval: { at, epoch, rules: outcome.by },
  }
  const { thread, plan } = openingOf(evaluation, { ...opened, thread: approved }, 1)
  return approving(deps, snapshot, thread, { ...plan, guards: [...plan.guards, { epoch }] })
}
