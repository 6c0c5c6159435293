import { type Actor, agentNamed } from '../../domain/evidence.ts'
import type { EventReceipt, Revision } from '../../contract/agent.ts'
import { GatewayError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { longTextErrors } from '../../contract/long-texts.ts'
import { LIMITS } from '../../contract/limits.ts'
import { isExpired, type Thread, transition } from '../../domain/thread.ts'
import type { History, Outcome, Snapshot, ToolUse } from '../../policy/language/snapshot.ts'
import { judge, requirePolicy } from '../thread/approval.ts'
import type { Deps } from '../core/deps.ts'
import { basisOfDecision, type Kept, keptBy } from './decision-record.ts'
import { type EvidenceRecord, type Happened, isoTime, record } from '../core/event-record.ts'
import { type Caller, keyGuard } from '../core/caller.ts'
import { freezeGuard, freezesNow, refuseFrozen } from '../core/freezes.ts'
import { historyFor } from '../thread/call-history.ts'
import { standingOf } from '../auth/standing.ts'
import { refuseWithoutRoom } from '../core/budgets.ts'
import type { Heading } from '../../domain/heading.ts'
import { makeHeading } from '../thread/heading.ts'
import { chargesOf, exceededBy, limitGuards } from '../thread/limits.ts'
import { traceOf } from '../core/trace-context.ts'
import { put, read, type RevisionRecord, revisionId, unchanged, type Versioned } from '../core/records.ts'
import { callOf } from '../thread/judge-call.ts'
import { withReasons } from '../thread/reasons.ts'
import {
  beforeDeadline,
  claimsOf,
  currentRevision,
  moved,
  nonceOf,
  revisionRecord,
  tightened,
  tightenedRisk,
  writeThread,
} from '../thread/thread-records.ts'
import { type Committed, type Plan, transact } from '../core/transact.ts'

export interface RevisionRequest {
  readonly taskId: string
  readonly thread_id: string
  readonly revision: Revision
}

/**
 * Replaces the action under review in the same thread (docs/agent-api.md). Earlier votes are void, policy judges again,
 * and the requirement can only become stricter.
 *
 * @throws GatewayError `unknown_thread`, `not_pending`, `duplicate_revision`, `too_many_revisions`, `invalid_revision`,
 * `invalid_policy_input`, `not_ready`, `unauthenticated`, `store_unavailable`, `outcome_unknown`
 */
export async function revise(
  deps: Deps,
  caller: Caller,
  request: RevisionRequest,
): Promise<Committed<EventReceipt>> {
  standingOf(deps, caller)
  refuseWithoutRoom(deps)
  const event_id = `evt_${deps.nextId()}`
  try {
    let exceeded: ReadonlySet<string> = new Set()
    const committed = await transact(deps, caller.tenant, (failed) => {
      exceeded = exceededBy(exceeded, failed)
      return attempt(deps, caller, request, { event_id, exceeded })
    })
    deps.observe({ kind: 'revision', result: 'accepted' })
    return committed
  } catch (error) {
    deps.observe({ kind: 'revision', result: 'rejected' })
    throw error
  }
}

async function attempt(
  deps: Deps,
  caller: Caller,
  request: RevisionRequest,
  { event_id, exceeded }: { readonly event_id: string; readonly exceeded: ReadonlySet<string> },
): Promise<Plan<EventReceipt>> {
  const { entry } = standingOf(deps, caller)
  const snapshot = requirePolicy(deps)
  const at = deps.store.now()
  const read = await openThread(deps, caller, request)
  const freezes = await freezesNow(deps, caller.tenant)
  refuseFrozen(freezes, read.value)
  deps.origin?.span?.goesOn(traceOf(read.value))
  checkShape(read.value, request.revision)
  const use = snapshot.useOf(caller.tenant, entry, read.value.tool)
  checkPayload({ snapshot, use }, read.value, request.revision)
  const payload = request.revision.request_payload as JsonObject
  const { tenant, tool, task_id: task } = read.value
  const history = await historyFor(deps, { snapshot, use }, { tenant, agent: caller.id, task, tool })
  const facts = { payload, at, task, use, history, exceeded }
  const call = callOf(caller, request.revision, facts)
  const raw = await judge(deps, snapshot, call)
  const outcome = withReasons(snapshot, call, tightenedRisk(read.value, raw))
  const bundle = snapshot.revision
  const key = read.value.tag_key
  const heading = makeHeading(snapshot, { tenant, tool, payload, outcome }, key)
  const evaluated = { outcome, heading, bundle, at, kept: keptBy(snapshot.tools.get(tool)) }
  const revision = nextRevision(read.value, request.revision, {
    ...evaluated,
    history,
    nonce: nonceOf(deps),
  })
  const after = afterRevision(read.value, revision, outcome)
  const evidence = evidenceOf(caller, { thread: after, revision, ...evaluated })
  const written = writeThread(read.value, after, { at, payload, evidence })
  return {
    answer: {
      event_id,
      recorded_at: isoTime(at),
      thread_id: after.thread_id,
      status: after.status,
      revision: after.revision,
    },
    guards: [
      unchanged('thread', after.thread_id, read),
      keyGuard(caller),
      freezeGuard(freezes),
      ...limitGuards(raw, exceeded),
    ],
    writes: [...written.writes, put('revision', revisionId(after.thread_id, after.revision), revision)],
    evidence,
    notices: written.notices,
    counted: true,
    ...beforeDeadline(read.value),
  }
}

async function openThread(deps: Deps, caller: Caller, request: RevisionRequest): Promise<Versioned<Thread>> {
  const thread = await read(deps.store, caller.tenant, 'thread', request.thread_id)
  if (thread?.value.agent !== caller.id || thread.value.task_id !== request.taskId) {
    throw new GatewayError('unknown_thread', 'this agent has no such thread in this task')
  }
  if (transition(thread.value.status, 'revise') === undefined || isExpired(thread.value, deps.store.now())) {
    throw new GatewayError('not_pending', 'the thread is decided; a new request opens a new thread')
  }
  return thread
}

function checkShape(thread: Thread, revision: Revision): void {
  if (thread.revision_ids.includes(revision.revision_id)) {
    throw new GatewayError('duplicate_revision', 'this revision_id was accepted before in this thread')
  }
  if (thread.revision >= LIMITS.REVISIONS) {
    throw new GatewayError('too_many_revisions', `a thread takes at most ${LIMITS.REVISIONS} revisions`)
  }
  if (revision.tool_name !== thread.tool) {
    throw invalid(
      '/payload/revision/tool_name',
      'must be the tool of the thread: a revision cannot change it',
    )
  }
  if (thread.path === 'v2' && revision.action_hash === undefined) {
    throw invalid('/payload/revision/action_hash', 'is required: the thread was opened with one')
  }
  if (thread.path === 'v1' && revision.action_hash !== undefined) {
    throw invalid('/payload/revision/action_hash', 'must be absent: the thread was opened without one')
  }
}

function invalid(pointer: string, message: string): GatewayError {
  return new GatewayError('invalid_revision', 'the revision does not fit the thread', {
    errors: [{ pointer, message }],
  })
}

function checkPayload(
  { snapshot, use }: { readonly snapshot: Snapshot; readonly use: ToolUse },
  thread: Thread,
  revision: Revision,
): void {
  const payload = revision.request_payload as JsonObject
  const problems = use.permitted ? snapshot.checkPayload(thread.tool, payload) : longTextErrors(payload)
  if (problems.length === 0) return
  throw new GatewayError(
    'invalid_policy_input',
    `the payload does not fit the contract of \`${thread.tool}\``,
    {
      errors: problems.map(({ pointer, message }) => ({
        pointer: `/payload/revision/request_payload${pointer}`,
        message,
      })),
    },
  )
}

interface Evaluated {
  readonly outcome: Outcome
  readonly heading: Heading
  readonly bundle: string
  readonly kept: Kept
  readonly at: number
}

function nextRevision(
  thread: Thread,
  revision: Revision,
  {
    outcome,
    heading,
    bundle,
    at,
    nonce,
    history,
  }: Evaluated & { readonly nonce: string; readonly history: History | undefined },
): RevisionRecord {
  return revisionRecord({
    thread_id: thread.thread_id,
    number: thread.revision + 1,
    revision_id: revision.revision_id,
    tool: thread.tool,
    payload: revision.request_payload as JsonObject,
    ...(revision.action_hash === undefined ? {} : { action_hash: revision.action_hash }),
    claims: claimsOf(revision),
    heading,
    outcome,
    requirement: tightened(thread, outcome),
    bundle,
    nonce,
    at,
    ...(history && { history }),
  })
}

/** The message that replaces a rule's reason and reviewers' comments on the earlier revision. */
const STILL_HELD = 'Policy would now allow this action; the reviewers who were asked still decide.'

/**
 * The thread after a revision. A reject by policy ends the thread. Otherwise reviewers still decide, even about a call
 * that policy would now allow.
 */
function afterRevision(thread: Thread, revision: RevisionRecord, outcome: Outcome): Thread {
  const { title: _, action_hash: __, charges: ___, workflow: ____, label: _____, ...rest } = thread
  const { because: ______, raised: _______, ...kept } = rest
  const trigger = outcome.verdict === 'reject' ? 'revise_rejected' : 'revise'
  const message = outcome.verdict === 'allow' ? STILL_HELD : outcome.message
  const next = { ...currentRevision(revision, chargesOf(outcome)), message }
  const subjects = [...new Set([...(thread.subjects ?? []), ...(next.subjects ?? [])])]
  return moved(kept, trigger, {
    ...next,
    ...(subjects.length === 0 ? {} : { subjects }),
    revision_ids: [...thread.revision_ids, revision.revision_id ?? ''],
  })
}

function evidenceOf(
  caller: Caller,
  about: Evaluated & { thread: Thread; revision: RevisionRecord },
): EvidenceRecord[] {
  const { thread, revision, outcome, heading, bundle, at, kept } = about
  const { details, disclosed } = basisOfDecision({
    outcome,
    bundle,
    ...kept,
    line: heading.line,
    template: heading.template,
    payload: revision.payload,
    payloadDigest: revision.payload_digest,
    actionHash: revision.action_hash,
    revisionId: revision.revision_id,
    nonce: revision.nonce,
    requirement: revision.requirement,
  })
  const event = { type: 'review.revised', details, disclosed } as Happened<'review.revised'>
  const revised = record(at, agentNamed(caller.id), thread, event)
  if (thread.status !== 'rejected') return [revised]
  const policy: Actor = { kind: 'gateway', id: 'policy' }
  const why = { by: outcome.by, risk: outcome.risk }
  return [revised, record(at, policy, thread, { type: 'review.rejected', details: why })]
}
