import type { Decision } from '../../contract/agent.ts'
import { isObject } from '../../contract/json.ts'
import { pollAfterSeconds, type Thread } from '../../domain/thread.ts'
import { budgetGuard, waitingOf } from '../core/budgets.ts'
import { askFirst } from '../thread/equal-calls.ts'
import { put, revisionId, type RevisionRecord, unchanged } from '../core/records.ts'
import { claimsOf, currentRevision, nonceOf, revisionRecord, writeThread } from '../thread/thread-records.ts'
import { listThread } from '../thread/thread-indexes.ts'
import { newTagKey } from '../thread/mask-sensitive.ts'
import type { Plan } from '../core/transact.ts'
import { asRepeat } from '../core/notice.ts'
import type { Deps } from '../core/deps.ts'
import type { EvidenceRecord } from '../core/event-record.ts'
import { decisionOf, type Evaluation, evidenceOf, headingFor, payloadOf } from './evaluation.ts'
import { chargesOf } from '../thread/limits.ts'

/**
 * Opens a thread in which reviewers decide the call.
 *
 * One commit writes, in this order:
 *
 * - the evidence record
 * - the thread, its entries by status, in the queue and for the timer, and its part of the budgets (`writeThread`)
 * - its revision, and its entries in the lists that it never leaves
 * - the key of equal calls (`askFirst`)
 * - the event for each webhook
 */
export async function openThread(deps: Deps, evaluation: Evaluation): Promise<Plan<Decision>> {
  const opened = newThread(deps, evaluation, 'review.pending')
  const first = await askFirst(deps, opened.thread)
  const thread: Thread = { ...opened.thread, ...(first.repeats && { repeats: true }) }
  const { plan } = openingOf(evaluation, { ...opened, thread }, pollAfterSeconds(0))
  return {
    ...plan,
    guards: [
      ...plan.guards,
      ...first.guards,
      ...waitingOf(thread).map((spending) => budgetGuard(deps, spending)),
    ],
    writes: [...plan.writes, ...first.writes],
    notices: first.repeats ? plan.notices.map(asRepeat) : plan.notices,
    ...(isUnbound(evaluation) && {
      landed: (): void => deps.observe({ kind: 'unbound', tool: thread.tool }),
    }),
  }
}

interface Opened {
  readonly thread: Thread
  readonly revision: RevisionRecord
  readonly evidence: readonly EvidenceRecord[]
}

/** The commit that opens a thread, and the thread as it is written. */
export function openingOf(
  { submission, outcome, guards, at }: Evaluation,
  { thread: opened, revision, evidence }: Opened,
  pollAfter: number,
) {
  const { thread_id } = opened
  const { payload } = revision
  const { thread, writes, notices } = writeThread(undefined, opened, { at, payload, evidence })
  const plan = {
    answer: {
      thread_id,
      recommended_poll_after_seconds: pollAfter,
      ...decisionOf(submission, 'pending_review', outcome.message),
    },
    guards: [...guards, unchanged('thread', thread_id, undefined)],
    writes: [...writes, put('revision', revisionId(thread_id, 1), revision), ...listThread(thread)],
    evidence,
    notices,
    counted: true,
  } satisfies Plan<Decision>
  return { thread, plan }
}

/** True for a command, when its contract has no `files` (docs/hooks.md). */
function isUnbound({ submission: { request }, basis }: Evaluation): boolean {
  const properties = basis.snapshot?.tools.get(request.tool_name)?.inputSchema['properties']
  return 'command' in payloadOf(request) && !(isObject(properties) && 'files' in properties)
}

/** A thread at its first revision, with the record of its decision. */
export function newThread(
  deps: Deps,
  evaluation: Evaluation,
  type: 'review.pending' | 'decision.approved',
): Opened {
  const { caller, submission, outcome, history, at, bundle, basis } = evaluation
  const { request } = submission
  const { epoch } = basis.freezes.freezes
  const { action_hash } = request
  const { requirement } = outcome
  if (requirement === undefined) throw new TypeError('the outcome of a thread must carry its requirement')
  const thread_id = `thr_${deps.nextId()}`
  const tag_key = newTagKey(deps)
  const heading = headingFor(evaluation, tag_key)
  const revision = revisionRecord({
    thread_id,
    number: 1,
    tool: request.tool_name,
    payload: payloadOf(request),
    ...(action_hash === undefined ? {} : { action_hash }),
    claims: claimsOf(request),
    heading,
    outcome,
    requirement,
    bundle,
    nonce: nonceOf(deps),
    at,
    ...(history && { history }),
  })
  const thread: Thread = {
    thread_id,
    tenant: caller.tenant,
    agent: caller.id,
    task_id: submission.taskId,
    tool: request.tool_name,
    path: action_hash === undefined ? 'v1' : 'v2',
    status: 'pending_review',
    created_at: at,
    tag_key,
    votes: [],
    revision_ids: [],
    ...currentRevision(revision, chargesOf(outcome)),
    ...(epoch === 0 ? {} : { freeze_epoch: epoch }),
    ...deps.origin?.span?.context(),
  }
  const { payload_digest: payloadDigest, nonce } = revision
  const held = { thread_id, revision: 1, heading, payloadDigest, nonce }
  return { thread, revision, evidence: [evidenceOf(deps, evaluation, type, held)] }
}
