/**
 * Folder: verbs of the agent API, from a proposed call to its redeemed proof.
 * Imports: as gateway, and beside it admin, auth, core, review, webhooks.
 * Start: submit.ts, then read-decision.ts and redeem.ts.
 */
import type { Decision, DecisionRequest } from '../../contract/agent.ts'
import { defined } from '../../contract/defined.ts'
import { GatewayError } from '../../contract/errors.ts'
import { longTextErrors } from '../../contract/long-texts.ts'
import type { WebhookEvent } from '../../contract/webhook.ts'
import type { Verdict } from '../../domain/decision.ts'
import { NO_BUNDLE } from '../../domain/evidence.ts'
import type { Heading } from '../../domain/heading.ts'
import { webhookOf } from '../../events/events.ts'
import { freezeGuard, freezesOf, frozenOutcome } from '../admin/freezes.ts'
import { keyInForce } from '../auth/identify.ts'
import { standingOf } from '../auth/standing.ts'
import { refuseWithoutRoom } from '../core/budgets.ts'
import type { KnownFreezes } from '../core/caches.ts'
import { type Caller, type Standing, keyGuard } from '../core/caller.ts'
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
import type { Notice } from '../webhooks/notice.ts'
import { epochOf, historyFor, noteHistory, type Noting } from './call-history.ts'
import { isSensitive } from './decision-record.ts'
import {
  decisionOf,
  type Evaluation,
  evidenceOf,
  headingFor,
  payloadOf,
  type Submission,
} from './evaluation.ts'
import { callOf, decide } from './judge-call.ts'
import { charge, chargesOf, exceededBy, limitGuards } from './limits.ts'
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
    const standing = standingOf(deps, caller)
    const known = freezesOf(deps, caller.tenant)
    const freezes = known instanceof Promise ? await known : known
    const last = epochOf(deps, caller.tenant)
    const epoch = last instanceof Promise ? await last : last
    const world = { freezes, epoch, exceeded, ...standing }
    const first = once && (await attempted(deps, caller, once))
    const answer = first && replayable(first, deps.store.now(), under(world))
    if (first && answer) return replay(deps, caller, { answer, first, world })
    refuseWithoutRoom(deps)
    checkInput(standing, request)
    const evaluation = await evaluate(deps, caller, submission, world)
    const plan =
      evaluation.outcome.verdict === 'review' ? await openThread(evaluation) : answerAtOnce(evaluation)
    return first ? remembering(deps, plan, first, under(world)) : plan
  })
}

/** The basis of a decision, without the request. */
interface World extends Standing {
  readonly freezes: KnownFreezes
  /** The epoch of the store. */
  readonly epoch: string
  /** Limits without room. */
  readonly exceeded: ReadonlySet<string>
}

const under = ({ snapshot, freezes }: World): Under => ({
  bundle: snapshot?.revision ?? NO_BUNDLE,
  freezeEpoch: freezes.freezes.epoch,
})

/** Repeats the first answer for the Idempotency-Key. */
async function replay(
  deps: Deps,
  caller: Caller,
  { answer, first, world }: { readonly answer: Decision; readonly first: Attempted; readonly world: World },
): Promise<Plan<Decision>> {
  await keyInForce(deps, caller)
  const guards = [unchanged('answer', first.id, first.known), freezeGuard(world.freezes)]
  const landed = (): void => deps.observe({ kind: 'replayed', decision: verdictOf(answer) })
  const confirmed = answer.status === 'allow' || isReadAhead(deps)
  return { answer, replayed: true, guards, landed, confirmed }
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

/** The outcome of the call by its freezes, or by policy, with the guards of its basis. */
async function evaluate(
  deps: Deps,
  caller: Caller,
  submission: Submission,
  world: World,
): Promise<Evaluation> {
  const { snapshot, entry, freezes, epoch, exceeded } = world
  const { request, taskId } = submission
  const at = deps.store.now()
  const sensitive =
    snapshot?.knows(caller.tenant, request.tool_name) !== false && isSensitive(snapshot, request.tool_name)
  const doer = { tenant: caller.tenant, agent: caller.id, task: taskId, tool: request.tool_name }
  const asked = { deps, caller, submission, doer, snapshot, freezes, epoch, at, sensitive }
  const frozen = frozenOutcome(freezes, doer)
  if (frozen) {
    const guards = [keyGuard(caller), freezeGuard(freezes)]
    return { outcome: frozen, history: undefined, bundle: NO_BUNDLE, guards, ...asked }
  }
  const needed = historyFor(deps, snapshot, { entry, ...doer })
  const history = needed && (await needed)
  const said = callOf(caller, request, payloadOf(request), at)
  const call = { task: taskId, exceeded, ...(history && { history }), ...(entry && { entry }), ...said }
  const outcome = await decide(deps, snapshot, call)
  const guards = [keyGuard(caller), freezeGuard(freezes), ...limitGuards(outcome, exceeded)]
  return { outcome, history, bundle: snapshot?.revision ?? NO_BUNDLE, guards, ...asked }
}

function answerAtOnce(evaluation: Evaluation): Plan<Decision> {
  const { deps, outcome, submission, caller, guards } = evaluation
  const heading = headingFor(evaluation, deps.nextId())
  const status = outcome.verdict === 'allow' ? 'allow' : 'reject'
  const type = status === 'allow' ? 'decision.allowed' : 'decision.rejected'
  const answer = decisionOf(submission, status, outcome.message)
  const evidence = [evidenceOf(evaluation, type, { heading })]
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

/** Adds an allowed call to the history, and charges its limits. */
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
