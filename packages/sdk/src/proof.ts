import {
  ChangesRequested,
  Expired,
  NoProof,
  NotExecuted,
  OutcomeUnknown,
  ProofRefused,
  Rejected,
  UnexpectedAnswer,
  Withdrawn,
} from './errors.ts'
import { messageOf } from './refusal.ts'
import type { Action, Call } from './flow.ts'
import { type RetryContext, withRetry } from './retry.ts'
import type { Decision } from './types.ts'

/** The refusal by a decision that does not let the call run. */
export function refused({ status, message, thread_id }: Decision): NotExecuted {
  const told = message ?? `the gateway answered ${status}`
  if (status === 'changes_requested') return new ChangesRequested(told, { thread_id })
  if (status !== 'reject' && status !== 'rejected') return new UnexpectedAnswer(told, { thread_id })
  if (told.startsWith('expired: ')) return new Expired(told, { thread_id })
  return new (told.startsWith('withdrawn: ') ? Withdrawn : Rejected)(told, { thread_id })
}

/** Checks that the gateway's decision is about this action. */
export function checkEcho(
  { taskId }: { readonly taskId: string },
  decision: Decision,
  action: { readonly hash: string },
): void {
  if (decision.action_hash === action.hash && decision.task_id === taskId) return
  throw new UnexpectedAnswer('the decision is about another action', {
    thread_id: decision.thread_id,
  })
}

/** @throws NotExecuted for a decision on another thread, and for an allow */
export function checkThread(answer: Decision, thread_id: string): void {
  if (answer.thread_id !== undefined && answer.thread_id !== thread_id)
    throw new UnexpectedAnswer('the decision is about another thread', { thread_id })
  // an approval carries a proof, but an allow would run without one
  if (answer.status === 'allow')
    throw new UnexpectedAnswer('allowed, although the call was held for reviewers', { thread_id })
}

export function contextOf({ signal }: Call, { thread_id }: Decision): RetryContext {
  return { signal, thread_id }
}

/**
 * Redeems the proof immediately before the call runs. The call may run only after `valid: true` for this task, thread
 * and hash, without a reason.
 */
export async function redeem(call: Call, action: Action, decision: Decision): Promise<void> {
  if (decision.approval_token === undefined && call.unsignedApprovals) return
  const context = contextOf(call, decision)
  const { approval_token, thread_id } = await withProof(call, action, decision)
  const request = {
    task_id: call.taskId,
    signature: approval_token,
    request_payload: action.payload,
    thread_id,
    action_hash: action.hash,
  }
  const result = await withRetry(() => call.client.validate(request, context), context).catch(
    (cause: unknown) => {
      if (cause instanceof NotExecuted && cause.code === 'aborted') throw cause
      const why = cause instanceof NotExecuted ? cause.reason : messageOf(cause)
      throw new OutcomeUnknown(`the redemption of the proof was not confirmed (${why})`, { thread_id, cause })
    },
  )
  const { valid, reason, task_id } = result
  const same = task_id === call.taskId && result.thread_id === thread_id && result.action_hash === action.hash
  // only this call has the proof, so its own request redeemed it
  if (valid === false && reason === 'used')
    throw new OutcomeUnknown('the proof is spent, and the answer that said so was lost', { thread_id })
  // `valid` and a reason contradict each other
  if (valid !== true || reason !== undefined || !same)
    throw new ProofRefused(`the proof was refused: ${reason ?? 'invalid'}`, {
      thread_id,
    })
}

interface Proven {
  readonly approval_token: string
  readonly thread_id: string
}

/** The proof of the decision. A proof that was handed out but did not arrive is replaced. */
async function withProof(call: Call, action: Action, decision: Decision): Promise<Proven> {
  const { approval_token, thread_id } = decision
  if (thread_id === undefined) throw noProof('the answer names no thread')
  if (approval_token !== undefined) return { approval_token, thread_id }
  const context = contextOf(call, decision)
  const again = await withRetry(() => call.client.reissue(thread_id, context), context).catch(
    (error: unknown) => {
      throw withoutProof(error, thread_id)
    },
  )
  if (again.status !== 'approved') throw refused(again)
  checkEcho(call, again, action)
  if (again.approval_token === undefined || again.thread_id !== thread_id)
    throw noProof('the gateway gave none', thread_id)
  return { approval_token: again.approval_token, thread_id }
}

/** The gateway's refusal to replace the proof. An absent answer is returned unchanged, because a retry may succeed. */
function withoutProof(error: unknown, thread_id: string): unknown {
  if (!(error instanceof NotExecuted) || error.code !== 'gateway_refused') return error
  if (error.problem === 'proof_used') return new NoProof(STARTED, { thread_id, cause: error })
  return noProof(`${error.reason}. ${MAYBE_UNSIGNED}`, thread_id, error)
}

const STARTED = 'it was started, and its end is unknown: its proof was redeemed before'
const MAYBE_UNSIGNED = 'An agent with `signed_approvals: false` needs the option `unsignedApprovals`'

const noProof = (why: string, thread_id?: string, cause?: unknown): NotExecuted =>
  new NoProof(`it was approved, but without a proof: ${why}`, { thread_id, cause })
