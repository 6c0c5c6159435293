import type { Decision, DecisionRequest } from '../../contract/agent.ts'
import { newTagKey } from '../thread/mask-sensitive.ts'
import { defined } from '../../contract/defined.ts'
import { GatewayError } from '../../contract/errors.ts'
import { longTextErrors } from '../../contract/long-texts.ts'
import type { WebhookEvent } from '../../contract/webhook.ts'
import type { Verdict } from '../../domain/decision.ts'
import { NO_BUNDLE } from '../../domain/evidence.ts'
import { webhookOf } from '../../events/events.ts'
import { freezeGuard, frozenOutcome } from '../core/freezes.ts'
import { keyInForce } from '../auth/identify.ts'
import { refuseWithoutRoom } from '../core/budgets.ts'
import { type Caller, keyGuard } from '../core/caller.ts'
import type { Deps } from '../core/deps.ts'
import {
  type Attempted,
  attempted,
  digestOfRequest,
  remembering,
  replayable,
  type Under,
} from '../core/idempotency.ts'
import { INDEX } from '../core/indexes.ts'
import { unchanged } from '../core/records.ts'
import { type Committed, isReadAhead, type Plan, transact } from '../core/transact.ts'
import type { Notice } from '../core/notice.ts'
import { historyFor, noteHistory, type Noting } from '../thread/call-history.ts'
import {
  type Basis,
  basisOf,
  decisionOf,
  type Evaluation,
  evidenceOf,
  headingFor,
  payloadOf,
  type Submission,
  needsProof,
} from './evaluation.ts'
import { callOf, decide } from '../thread/judge-call.ts'
import { withReasons } from '../thread/reasons.ts'
import { charge, chargesOf, exceededBy, limitGuards } from '../thread/limits.ts'
import { expecting } from './expected.ts'
import { openApproved } from './open-approved.ts'
import { openThread } from './open-thread.ts'

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
  const { idempotencyKey: key, request, taskId } = submission
  const once = key === undefined ? undefined : { taskId, key, digest: digestOfRequest(request) }
  let exceeded: ReadonlySet<string> = new Set()
  return transact(deps, caller.tenant, async (failed) => {
    exceeded = exceededBy(exceeded, failed)
    const basis = await basisOf(deps, caller, request.tool_name, exceeded)
    const first = once && (await attempted(deps, caller, once))
    const answer = first && replayable(first, deps.store.now(), under(basis))
    if (first && answer) return replay(deps, caller, { answer, first, basis })
    refuseWithoutRoom(deps)
    checkInput(basis, request)
    const evaluation = await evaluate(deps, caller, submission, basis)
    const plan = await planOf(deps, evaluation)
    return first ? remembering(deps, plan, first, under(basis)) : plan
  })
}

function planOf(deps: Deps, evaluation: Evaluation): Plan<Decision> | Promise<Plan<Decision>> {
  const { outcome, basis } = evaluation
  if (outcome.verdict === 'review') return openThread(deps, evaluation)
  const isApproval = outcome.verdict === 'allow' && needsProof(basis)
  return isApproval ? openApproved(deps, evaluation) : answerAtOnce(deps, evaluation)
}

const under = ({ snapshot, freezes }: Basis): Under => ({
  bundle: snapshot?.revision ?? NO_BUNDLE,
  freezeEpoch: freezes.freezes.epoch,
})

/** Repeats the first answer for the Idempotency-Key. */
async function replay(
  deps: Deps,
  caller: Caller,
  { answer, first, basis }: { readonly answer: Decision; readonly first: Attempted; readonly basis: Basis },
): Promise<Plan<Decision>> {
  await keyInForce(deps, caller)
  const guards = [unchanged('answer', first.id, first.known), freezeGuard(basis.freezes)]
  const landed = (): void => deps.observe({ kind: 'replayed', decision: verdictOf(answer) })
  const confirmed = answer.status === 'allow' || isReadAhead(deps)
  return { answer, replayed: true, guards, landed, confirmed }
}

const verdictOf = ({ status }: Decision): Verdict =>
  status === 'allow' ? 'allow' : status === 'pending_review' ? 'review' : 'reject'

/** Refuses a payload that does not fit the contract of a usable tool, as "invalid policy input". */
function checkInput({ snapshot, use }: Basis, request: DecisionRequest): void {
  const payload = payloadOf(request)
  const problems =
    snapshot && use?.permitted ? snapshot.checkPayload(request.tool_name, payload) : longTextErrors(payload)
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

/** The outcome of the call by its freezes, or by policy, with the guards of its basis. */
async function evaluate(
  deps: Deps,
  caller: Caller,
  submission: Submission,
  basis: Basis,
): Promise<Evaluation> {
  const { snapshot, freezes, exceeded, use } = basis
  const { request, taskId: task } = submission
  const { tenant, id: agent } = caller
  const at = deps.store.now()
  const guards = [keyGuard(caller), freezeGuard(freezes)]
  const frozen = frozenOutcome(freezes, { agent, tool: request.tool_name })
  if (frozen)
    return { caller, submission, basis, outcome: frozen, history: undefined, at, bundle: NO_BUNDLE, guards }
  const history = await historyFor(deps, basis, { tenant, agent, task, tool: request.tool_name })
  const facts = { payload: payloadOf(request), at, task, use, history, exceeded }
  const call = callOf(caller, request, facts)
  const decided = await decide(deps, snapshot, call)
  guards.push(...limitGuards(decided, exceeded))
  const bundle = snapshot?.revision ?? NO_BUNDLE
  const outcome = decided.verdict === 'review' ? withReasons(snapshot, call, decided) : decided
  return { caller, submission, basis, outcome, history, at, bundle, guards }
}

function answerAtOnce(deps: Deps, evaluation: Evaluation): Plan<Decision> | Promise<Plan<Decision>> {
  const { outcome, submission, caller, guards, basis } = evaluation
  const status = outcome.verdict === 'allow' ? 'allow' : 'reject'
  const type = status === 'allow' ? 'decision.allowed' : 'decision.rejected'
  const answer = decisionOf(submission, status, outcome.message)
  const record = evidenceOf(deps, evaluation, type)
  const evidence = [record]
  const event = webhookOf(record)
  const notices = event === undefined ? [] : [() => noticeOf(deps, evaluation, event, answer)]
  if (status === 'allow') {
    const { writes, landed, guards: noted } = noteAllowed(deps, evaluation)
    const plan = { answer, evidence, notices, counted: true, writes, landed, guards: [...guards, ...noted] }
    const { outcomeMs } = basis.use?.contract ?? {}
    return outcomeMs === undefined ? plan : expectingOutcome(deps, evaluation, plan, outcomeMs)
  }
  const index = INDEX.rejected(caller.id, submission.taskId)
  return { answer, evidence, notices, counted: true, guards, writes: [{ op: 'mark', index }] }
}

async function expectingOutcome(
  deps: Deps,
  evaluation: Evaluation,
  plan: Plan<Decision>,
  outcomeMs: number,
): Promise<Plan<Decision>> {
  const { guards, writes } = await expecting(deps, evaluation, outcomeMs)
  return { ...plan, guards: [...(plan.guards ?? []), ...guards], writes: [...(plan.writes ?? []), ...writes] }
}

/** Adds an allowed call to the history, and charges its limits. */
function noteAllowed(deps: Deps, { caller, submission, basis, outcome, at }: Evaluation): Noting {
  const { snapshot, epoch } = basis
  const { tenant, id: agent } = caller
  const doer = { tenant, agent, task: submission.taskId, tool: submission.request.tool_name }
  const { writes, guards, landed } = noteHistory(deps, snapshot, doer, { at, epoch })
  return { writes: [...writes, ...charge(chargesOf(outcome), at)], guards, landed }
}

function noticeOf(
  deps: Deps,
  evaluation: Evaluation,
  type: WebhookEvent,
  { status, message }: Decision,
): Notice {
  const { caller, submission, outcome, at } = evaluation
  const { tool_name, workflow_name, task_label } = submission.request
  return {
    at,
    payload: payloadOf(submission.request),
    ...defined({ trace: deps.origin?.span?.context() }),
    body: {
      type,
      tenant_id: caller.tenant,
      agent_id: caller.id,
      tool_name,
      heading: headingFor(evaluation, newTagKey(deps)),
      task_id: submission.taskId,
      decision: status,
      risk: outcome.risk,
      sequence: 1,
      ...defined({ message, workflow_name, task_label }),
    },
  }
}
