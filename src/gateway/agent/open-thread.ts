import type { Decision } from '../../contract/agent.ts'
import { isObject } from '../../contract/json.ts'
import type { Heading } from '../../domain/heading.ts'
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
import { decisionOf, type Evaluation, evidenceOf, headingFor, payloadOf } from './evaluation.ts'
import { chargesOf } from '../thread/limits.ts'

/** Opens a thread in which reviewers decide the call. */
export async function openThread(deps: Deps, evaluation: Evaluation): Promise<Plan<Decision>> {
  const { submission, outcome, guards } = evaluation
  const thread_id = `thr_${deps.nextId()}`
  const tag_key = newTagKey(deps)
  const heading = headingFor(evaluation, tag_key)
  const { thread: opened, revision } = newThread(deps, evaluation, { thread_id, tag_key, heading })
  const first = await askFirst(deps, opened)
  const thread: Thread = { ...opened, ...(first.repeats && { repeats: true }) }
  const payload = payloadOf(submission.request)
  const { payload_digest: payloadDigest, nonce } = revision
  const asked = { thread_id, revision: 1, heading, payloadDigest, nonce }
  const evidence = [evidenceOf(deps, evaluation, 'review.pending', asked)]
  const { writes, notices } = writeThread(undefined, thread, { at: evaluation.at, payload, evidence })
  return {
    answer: {
      thread_id,
      recommended_poll_after_seconds: pollAfterSeconds(0),
      ...decisionOf(submission, 'pending_review', outcome.message),
    },
    guards: [
      ...guards,
      ...first.guards,
      unchanged('thread', thread_id, undefined),
      ...waitingOf(thread).map((spending) => budgetGuard(deps, spending)),
    ],
    writes: [
      ...writes,
      ...first.writes,
      put('revision', revisionId(thread_id, 1), revision),
      ...listThread(thread),
    ],
    evidence,
    notices: first.repeats ? notices.map(asRepeat) : notices,
    counted: true,
    ...(isUnbound(evaluation) && {
      landed: (): void => deps.observe({ kind: 'unbound', tool: thread.tool }),
    }),
  }
}

/** True for a command, when its contract has no `files` (docs/hooks.md). */
function isUnbound({ submission: { request }, basis }: Evaluation): boolean {
  const properties = basis.snapshot?.tools.get(request.tool_name)?.inputSchema['properties']
  return 'command' in payloadOf(request) && !(isObject(properties) && 'files' in properties)
}

/** A thread at its first revision. */
export function newThread(
  deps: Deps,
  evaluation: Evaluation,
  {
    thread_id,
    tag_key,
    heading,
  }: Pick<Thread, 'thread_id'> & { readonly tag_key: string; readonly heading: Heading },
): { readonly thread: Thread; readonly revision: RevisionRecord } {
  const { caller, submission, outcome, history, at, bundle, basis } = evaluation
  const { request } = submission
  const { epoch } = basis.freezes.freezes
  const { action_hash } = request
  const { requirement } = outcome
  if (requirement === undefined) throw new TypeError('the outcome of a thread must carry its requirement')
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
    ...deps.origin?.span.context(),
  }
  return { thread, revision }
}
