import type { Decision, DecisionRequest } from '../../contract/agent.ts'
import { defined } from '../../contract/defined.ts'
import type { WebhookEvent } from '../../contract/webhook.ts'
import { GatewayError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { longTextErrors } from '../../contract/long-texts.ts'
import type { Verdict } from '../../domain/decision.ts'
import { NO_BUNDLE } from '../../domain/evidence.ts'
import { pollAfterSeconds, type Thread } from '../../domain/thread.ts'
import type { History, Outcome, Snapshot } from '../../policy/evaluate/snapshot.ts'
import type { Guard } from '../../store/store.ts'
import type { Deps } from '../core/deps.ts'
import { decisionDetails, isSensitive } from './decision-record.ts'
import { callOf, decide } from './judge-call.ts'
import { webhookOf } from '../../events/events.ts'
import { type EvidenceRecord, isoTime } from '../core/event-record.ts'
import type { KnownFreezes } from '../core/caches.ts'
import { freezeGuard, freezesOf, frozenOutcome } from '../admin/freezes.ts'
import { type Doer, epochOf, historyFor, noteHistory, type Noting } from './call-history.ts'
import { attempted, remembering, replayable } from '../core/idempotency.ts'
import { type Caller, type Standing, keyGuard } from '../core/caller.ts'
import { keyInForce } from '../auth/identify.ts'
import { standingOf } from '../auth/standing.ts'
import { askFirst } from '../core/equal-calls.ts'
import { budgetGuard, refuseWithoutRoom, waitingOf } from '../core/budgets.ts'
import type { Heading } from '../../domain/heading.ts'
import { makeHeading } from '../review/heading.ts'
import { charge, chargesOf, exceededBy, limitGuards } from './limits.ts'
import { asRepeat, type Notice } from '../webhooks/notice.ts'
import { put, revisionId, unchanged } from '../core/records.ts'
import { INDEX } from '../core/indexes.ts'
import {
  claimsOf,
  currentRevision,
  listThread,
  nonceOf,
  revisionRecord,
  writeThread,
} from '../core/thread-records.ts'
import { type Committed, isReadAhead, type Plan, transact } from '../core/transact.ts'

export interface Submission {
  readonly taskId: string
  readonly request: DecisionRequest
  readonly idempotencyKey?: string
}

/**
 * Evaluates a proposed tool call (docs/agent-api.md, POST requests): allow or reject at once, or a new thread.
 *
 * @throws GatewayError `unauthenticated`, `invalid_policy_input`, `idempotency_mismatch`, `store_unavailable`,
 * `outcome_unknown`
 */
export async function submit(
  deps: Deps,
  caller: Caller,
  submission: Submission,
): Promise<Committed<Decision>> {
  let exceeded: ReadonlySet<string> = new Set()
  return transact(deps, caller.tenant, async (failed) => {
    exceeded = exceededBy(exceeded, failed)
    const standing = standingOf(deps, caller)
    const known = freezesOf(deps, caller.tenant)
    const freezes = known instanceof Promise ? await known : known
    const last = epochOf(deps, caller.tenant)
    const epoch = last instanceof Promise ? await last : last
    const world = { freezes, epoch, exceeded, ...standing }
    return submission.idempotencyKey === undefined
      ? evaluate(deps, caller, submission, world)
      : evaluateOnce(deps, caller, submission, world)
  })
}

/** The basis of a decision beside the request. */
interface World extends Standing {
  readonly freezes: KnownFreezes
  /** The epoch of the store. */
  readonly epoch: string
  /** Limits without room. */
  readonly exceeded: ReadonlySet<string>
}

/** Under an Idempotency-Key: returns the first answer, or evaluates and stores the answer in the same commit. */
async function evaluateOnce(
  deps: Deps,
  caller: Caller,
  submission: Submission,
  world: World,
): Promise<Plan<Decision>> {
  const { taskId, idempotencyKey = '', request } = submission
  const under = {
    bundle: world.snapshot?.revision ?? NO_BUNDLE,
    freezeEpoch: world.freezes.freezes.epoch,
  }
  const attempt = await attempted(deps, caller, { taskId, key: idempotencyKey, body: request })
  const replay = replayable(attempt, deps.store.now(), under)
  if (replay) {
    await keyInForce(deps, caller)
    const guards = [unchanged('answer', attempt.id, attempt.known), freezeGuard(world.freezes)]
    const landed = (): void => deps.observe({ kind: 'replayed', decision: verdictOf(replay) })
    const confirmed = replay.status === 'allow' || isReadAhead(deps)
    return { answer: replay, replayed: true, guards, landed, confirmed }
  }
  return remembering(deps, await evaluate(deps, caller, submission, world), attempt, under)
}

const verdictOf = ({ status }: Decision): Verdict =>
  status === 'allow' ? 'allow' : status === 'pending_review' ? 'review' : 'reject'

/** Refuses a payload that does not fit the contract of a usable tool, as "invalid policy input". */
function checkInput({ snapshot, entry }: Standing, request: DecisionRequest): void {
  const payload = payloadOf(request)
  const problems = snapshot?.mayUse(entry, request.tool_name)
    ? snapshot.checkPayload(request.tool_name, payload)
    : longTextErrors(payload)
  if (problems.length === 0) return
  throw new GatewayError(
    'invalid_policy_input',
    `the payload does not fit the contract of \`${request.tool_name}\``,
    {
      errors: problems.map((problem) => ({
        pointer: `/payload${problem.pointer}`,
        message: problem.message,
      })),
    },
  )
}

export function payloadOf(request: DecisionRequest): JsonObject {
  return (request.payload ?? {}) as JsonObject
}

async function evaluate(
  deps: Deps,
  caller: Caller,
  submission: Submission,
  world: World,
): Promise<Plan<Decision>> {
  const { snapshot, entry, freezes, epoch, exceeded } = world
  const { request, taskId } = submission
  refuseWithoutRoom(deps)
  checkInput(world, request)
  const at = deps.store.now()
  const sensitive =
    snapshot?.knows(caller.tenant, request.tool_name) !== false && isSensitive(snapshot, request.tool_name)
  const doer = { tenant: caller.tenant, agent: caller.id, task: taskId, tool: request.tool_name }
  const asked = { deps, caller, submission, doer, snapshot, freezes, epoch, at, sensitive }
  const frozen = frozenOutcome(freezes, doer)
  if (frozen) {
    const guards = [keyGuard(caller), freezeGuard(freezes)]
    return answerAtOnce({ outcome: frozen, history: undefined, bundle: NO_BUNDLE, guards, ...asked })
  }
  const needed = historyFor(deps, snapshot, { entry, ...doer })
  const history = needed && (await needed)
  const said = callOf(caller, request, payloadOf(request), at)
  const call = { task: taskId, exceeded, ...(history && { history }), ...(entry && { entry }), ...said }
  const outcome = await decide(deps, snapshot, call)
  const guards = [keyGuard(caller), freezeGuard(freezes), ...limitGuards(outcome, exceeded)]
  const evaluation = { outcome, history, bundle: snapshot?.revision ?? NO_BUNDLE, guards, ...asked }
  return outcome.verdict === 'review' ? openThread(evaluation) : answerAtOnce(evaluation)
}

interface Evaluation {
  readonly deps: Deps
  readonly caller: Caller
  readonly submission: Submission
  readonly doer: Doer
  readonly snapshot: Snapshot | undefined
  readonly freezes: KnownFreezes
  readonly epoch: string
  readonly outcome: Outcome
  readonly history: History | undefined
  readonly at: number
  readonly bundle: string
  readonly sensitive: boolean
  /** Guards of the outcome's basis. */
  readonly guards: readonly Guard[]
}

function headingFor({ deps, snapshot, submission, caller, outcome }: Evaluation, scope: string): Heading {
  const { request } = submission
  const { tenant } = caller
  const call = { tenant, tool: request.tool_name, payload: payloadOf(request), by: outcome.by }
  return makeHeading(deps, snapshot, call, scope)
}

function answerAtOnce(evaluation: Evaluation): Plan<Decision> {
  const { deps, outcome, submission, caller, guards } = evaluation
  const heading = headingFor(evaluation, deps.nextId())
  const status = outcome.verdict === 'allow' ? 'allow' : 'reject'
  const type = status === 'allow' ? 'decision.allowed' : 'decision.rejected'
  const answer = decisionOf(submission, status, outcome.message)
  const evidence = [evidenceOf(evaluation, type, heading)]
  const notices = evidence.flatMap((record) => {
    const event = webhookOf(record)
    return event === undefined ? [] : [noticeOf(evaluation, event, { answer, heading })]
  })
  if (status === 'allow') {
    const noting = noteAllowed(evaluation)
    return { answer, evidence, notices, counted: true, ...noting, guards: [...guards, ...noting.guards] }
  }
  const index = INDEX.rejected(caller.id, submission.taskId)
  return { answer, evidence, notices, counted: true, guards, writes: [{ op: 'mark', index }] }
}

/** Adds an allowed call to the history, and charges it. */
function noteAllowed({ deps, doer, snapshot, outcome, epoch, at }: Evaluation): Noting {
  const { writes, ...noting } = noteHistory(deps, snapshot, doer, { at, epoch })
  return { writes: [...writes, ...charge(chargesOf(outcome), at)], ...noting }
}

function noticeOf(
  { deps, caller, submission, outcome, at }: Evaluation,
  type: WebhookEvent,
  { answer: { status, message }, heading }: { readonly answer: Decision; readonly heading: Heading },
): Notice {
  const { tool_name, workflow_name, task_label } = submission.request
  return {
    at,
    payload: payloadOf(submission.request),
    ...defined({ trace: deps.origin?.span.context() }),
    body: {
      type,
      tenant_id: caller.tenant,
      agent_id: caller.id,
      tool_name,
      heading,
      task_id: submission.taskId,
      decision: status,
      risk: outcome.risk,
      sequence: 1,
      ...defined({ message, workflow_name, task_label }),
    },
  }
}

async function openThread(evaluation: Evaluation): Promise<Plan<Decision>> {
  const { deps, submission, outcome, guards } = evaluation
  const thread_id = `thr_${deps.nextId()}`
  const heading = headingFor(evaluation, thread_id)
  const { thread: opened, revision } = newThread(evaluation, thread_id, heading)
  const first = await askFirst(deps, opened)
  const thread: Thread = { ...opened, ...(first.repeats && { repeats: true }) }
  const payload = payloadOf(submission.request)
  const evidence = [{ thread_id, revision: 1, ...evidenceOf(evaluation, 'review.pending', heading) }]
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
  }
}

function newThread(evaluation: Evaluation, thread_id: string, heading: Heading) {
  const { caller, submission, outcome, history, at, bundle, freezes } = evaluation
  const { request } = submission
  const { epoch } = freezes.freezes
  const { action_hash } = request
  const { requirement } = outcome
  if (requirement === undefined) throw new TypeError('an outcome of review carries its requirement')
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
    nonce: nonceOf(evaluation.deps),
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
    votes: [],
    revision_ids: [],
    ...currentRevision(revision, chargesOf(outcome)),
    ...(epoch === 0 ? {} : { freeze_epoch: epoch }),
    ...evaluation.deps.origin?.span.context(),
  }
  return { thread, revision }
}

function decisionOf(
  submission: Submission,
  status: Decision['status'],
  message: string,
): Omit<Decision, 'thread_id' | 'recommended_poll_after_seconds'> {
  const { action_hash } = submission.request
  return {
    status,
    task_id: submission.taskId,
    ...(message === '' ? {} : { message }),
    ...(action_hash === undefined ? {} : { action_hash }),
  }
}

function evidenceOf(
  evaluation: Evaluation,
  type: 'decision.allowed' | 'decision.rejected' | 'review.pending',
  heading: Heading,
): EvidenceRecord<'decision.allowed' | 'decision.rejected' | 'review.pending'> {
  const { deps, caller, submission, outcome, at, bundle, sensitive } = evaluation
  const { action_hash, risk_level } = submission.request
  const details = decisionDetails(deps, {
    outcome,
    bundle,
    sensitive,
    heading,
    payload: payloadOf(submission.request),
    actionHash: action_hash,
    claimedRisk: risk_level,
    traceparent: deps.origin?.span.received?.traceparent,
    requirement: outcome.requirement,
  })
  return {
    type,
    tenant: caller.tenant,
    at: isoTime(at),
    actor: { kind: 'agent', id: caller.id },
    task_id: submission.taskId,
    tool: submission.request.tool_name,
    details,
  }
}
