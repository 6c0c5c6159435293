import { actionHash, type Which } from './canonical-json.ts'
import { type Carrier, requireEqual } from './carrier.ts'
import type { Client } from './client.ts'
import {
  Aborted,
  ChangesRequested,
  GatewayUnavailable,
  InvalidPayload,
  NotExecuted,
  StillPending,
  UnexpectedAnswer,
  UnknownTool,
} from './errors.ts'
import { messageOf } from './refusal.ts'
import { type Handle, sized } from './handle.ts'
import type { UsedAllows } from './idempotency.ts'
import type { Claims, GuardOptions } from './options.ts'
import { nearest } from './nearest.ts'
import { notifyPending } from './pending.ts'
import { checkEcho, checkThread, contextOf, redeem, refused } from './proof.ts'
import { checkAborted, orAborted, pause, withRetry } from './retry.ts'
import { type SchemaError, schemaErrors } from './schema-check.ts'
import type { Decision, Json, Payload, ResolvedTool } from './types.ts'

/** A call with its dependencies. */
export interface Call {
  readonly client: Client
  readonly contracts: Map<string, ResolvedTool>
  readonly tool: string
  readonly taskId: string
  readonly callId: string
  /** The gateway's answers to this call, including those that arrive after the caller gave up. */
  readonly answers: Promise<Decision>[]
  /** True when another process, or this process before a restart, may have used the id. */
  readonly comesAgain: boolean
  readonly usedAllows: UsedAllows
  readonly maxWaitMs: number
  readonly signal: AbortSignal | undefined
  readonly carrier: Carrier
  readonly onPending: GuardOptions<Payload>['onPending'] | undefined
  readonly revise: GuardOptions<Payload>['revise'] | undefined
  readonly beforeProof: GuardOptions<Payload>['beforeProof'] | undefined
  readonly claims: Claims
  readonly unsignedApprovals: boolean
  /** The wait ends before this time of `performance.now()`. */
  readonly latest: number
  /** The last step of the call, for the handle of its refusal. A call that is over is withdrawn. */
  readonly at: { step?: Step; isOver?: true }
}

/** An immutable action and the hash that was submitted for it. */
export interface Action extends Which {
  readonly payload: Payload
  readonly hash: string
}

/** An action, and the arguments for the function, whose JSON is the payload. */
export interface Own extends Action {
  readonly value: unknown
}

export interface Step {
  readonly action: Own
  readonly decision: Decision
}

export interface AuthorizedCall {
  readonly action: Own
  readonly thread_id: string | undefined
}

/**
 * Maximum number of repeated allows for one id. A gateway that repeats more cannot distinguish old answers from new.
 */
const MOST_REPLAYED = 1_000
const POLL_SECONDS = 50
/** Minimum time between two polls that the gateway does not hold. */
const LEAST_POLL_MS = 1_000

/**
 * The first half of a call: checks it against its contract, and submits it.
 *
 * @throws NotExecuted; other errors for answers of an unexpected shape
 */
export async function proposed(
  call: Call,
  { value, payload }: Pick<Own, 'value' | 'payload'>,
): Promise<Step> {
  checkAborted({ signal: call.signal })
  await checkLocally(call, payload)
  const { action, decision } = await submit(call, payload)
  return (call.at.step = { action: { ...action, value }, decision })
}

/**
 * The second half: waits for reviewers, and redeems the proof.
 *
 * @throws NotExecuted unless the call may run; other errors for answers of an unexpected shape
 */
export async function permitted(call: Call, first: Step): Promise<AuthorizedCall> {
  const { action, decision } = await waitForPeople(call, first)
  if (decision.status !== 'allow' && decision.status !== 'approved') throw refused(decision)
  checkEcho(call, decision, action)
  checkAborted(contextOf(call, decision))
  requireEqual(call.carrier, action.value, action.payload, decision.thread_id)
  if (decision.status === 'approved') {
    await checkBeforeProof(call, action)
    checkAborted(contextOf(call, decision))
    await redeem(call, action, decision)
  }
  return { action, thread_id: decision.thread_id }
}

/** @throws NotExecuted when the caller's last check fails */
async function checkBeforeProof({ at, beforeProof }: Call, { value }: Own): Promise<void> {
  try {
    await beforeProof?.(value as Payload)
  } catch (cause) {
    at.isOver = true
    throw cause instanceof NotExecuted
      ? cause
      : new Aborted(`beforeProof failed: ${messageOf(cause)}`, { cause })
  }
}

/**
 * The handle of a proposed call.
 *
 * @throws NotExecuted when the call neither may run nor waits
 */
export function handleOf(call: Pick<Call, 'tool' | 'taskId'>, { action, decision }: Step): Handle {
  const { status, thread_id } = decision
  if (status !== 'allow' && status !== 'pending_review') throw refused(decision)
  if (status === 'pending_review' && thread_id === undefined) throw withoutThread()
  return sized({
    v: 1,
    status: isDecided(decision) ? 'approved' : status,
    task_id: call.taskId,
    tool_name: call.tool,
    nonce: action.nonce,
    action_hash: action.hash,
    ...(action.again === undefined ? {} : { again: action.again }),
    ...(status === 'allow' || thread_id === undefined ? {} : { thread_id }),
    payload: action.payload,
  })
}

const withoutThread = (): NotExecuted => new UnexpectedAnswer('a pending decision without a thread')

async function checkLocally(call: Call, payload: Payload): Promise<void> {
  const found = await errorsByContract(call, payload)
  if (found.length === 0) return
  const places = found.map(({ pointer, message }) => `${pointer === '' ? 'the payload' : pointer} ${message}`)
  throw new InvalidPayload(`the payload does not fit the contract of ${call.tool}: ${places.join('; ')}`)
}

/** The errors in the payload. A cached contract may be outdated, so the SDK reads the current one before it refuses. */
async function errorsByContract(call: Call, payload: Payload): Promise<SchemaError[]> {
  const known = call.contracts.get(call.tool)
  if (known && errorsBy(known, payload)?.length === 0) return []
  const contract = await resolveContract(call)
  const found = errorsBy(contract, payload)
  if (found === undefined) throw new GatewayUnavailable(`the contract of ${call.tool} cannot be read`)
  call.contracts.set(call.tool, contract)
  return found
}

/** The errors according to this contract; undefined when its schema is not a JSON Schema. */
function errorsBy({ input_schema }: ResolvedTool, payload: Payload): SchemaError[] | undefined {
  try {
    return schemaErrors(payload as Json, input_schema)
  } catch {
    return undefined
  }
}

async function resolveContract(call: Call): Promise<ResolvedTool> {
  const { tools } = await withRetry(() => call.client.resolve([call.tool], call), call)
  const contract = tools.find((one) => (one as ResolvedTool | null)?.name === call.tool)
  if (contract === undefined)
    throw new UnknownTool(`the gateway does not let this agent use ${call.tool}${await suggestion(call)}`)
  return contract
}

/** The tool of this agent with the nearest name, as a question. Empty when there is no such tool, or no answer. */
async function suggestion(call: Call): Promise<string> {
  const known = await call.client.resolve([], call).catch(() => undefined)
  const near = nearest(call.tool, known?.tools.map(({ name }) => name) ?? [])
  return near === undefined ? '' : ` (did you mean ${near}?)`
}

async function actionOf(call: Call, payload: Payload, which: Which): Promise<Action> {
  const action = { task_id: call.taskId, tool_name: call.tool, payload, ...which }
  return { payload, hash: await actionHash(action), ...which }
}

/**
 * Submits the call until the gateway gives it an answer of its own. An allow covers one run. Policy judges a repeated
 * call again, by the limits and history at that time. This process records the allows that it has used, and the gateway
 * marks repeated answers. An earlier answer may be lost or used. In doubt, the SDK lets a call count twice, because it
 * must not run twice.
 */
async function submit(
  call: Call,
  payload: Payload,
): Promise<{ readonly action: Action; readonly decision: Decision }> {
  const first = await actionOf(call, payload, { nonce: call.callId })
  for (let replays = 0; replays <= MOST_REPLAYED;) {
    const again = call.usedAllows.used(first.hash)
    const action = again === 0 ? first : await actionOf(call, payload, { nonce: call.callId, again })
    const { decision, replayed } = await submitOnce(call, action)
    if (decision.status !== 'allow') return { action, decision }
    const mayBeUsed = replayed && call.comesAgain
    if (call.usedAllows.use(first.hash, again) && !mayBeUsed) return { action, decision }
    if (mayBeUsed) replays++
  }
  throw new GatewayUnavailable('allowed, but the gateway marks every answer as given before')
}

interface Submitted {
  readonly decision: Decision
  /**
   * True when the gateway repeated this answer, after a lost request or a request by another process with the same id.
   */
  readonly replayed: boolean
}

/**
 * Submits one action, with retries.
 *
 * @throws NotExecuted
 */
async function submitOnce(call: Call, { payload, hash }: Action): Promise<Submitted> {
  const { tool, claims, signal, taskId } = call
  const request = { ...claims, tool_name: tool, payload, action_hash: hash }
  let replayed = false
  const onReplayed = (): void => void (replayed = true)
  // sends the request without the signal, because a late answer still names the thread to withdraw
  const once = async (): Promise<Decision> => {
    const answer = call.client.submit(taskId, request, { idempotencyKey: hash, onReplayed })
    call.answers.push(answer)
    return orAborted(answer, { signal })
  }
  return { decision: await withRetry(once, { signal }), replayed }
}

/**
 * Waits for reviewers when the call is held.
 *
 * @throws NotExecuted when they do not decide in time, or `onPending` fails
 */
async function waitForPeople(call: Call, first: Step): Promise<Step> {
  if (!isOpen(first.decision)) return first
  // a monotonic clock: the system's clock may be set
  const deadline = Math.min(performance.now() + call.maxWaitMs, call.latest)
  const asksPeople = first.decision.status === 'pending_review' && !isDecided(first.decision)
  const listener = asksPeople ? call.onPending : undefined
  const notice = notifyPending(listener, first.decision, call.signal)
  const waiting = { ...call, signal: notice.signal }
  let step = first
  try {
    while (isOpen(step.decision)) step = call.at.step = await nextStep(waiting, step, deadline)
    notice.check()
    return step
  } catch (error) {
    notice.check()
    throw error
  } finally {
    notice.end()
  }
}

/** A hint: a rule approved the pending call (`proof: always`), and the gateway recommends a prompt poll. */
export const isDecided = ({ status, recommended_poll_after_seconds }: Decision): boolean =>
  status === 'pending_review' && recommended_poll_after_seconds === 1

function isOpen(decision: Decision): boolean {
  return decision.status === 'pending_review' || decision.status === 'changes_requested'
}

async function nextStep(call: Call, { action, decision }: Step, deadline: number): Promise<Step> {
  const current = decision.status === 'changes_requested' ? await revise(call, action, decision) : action
  return { action: current, decision: await poll(call, decision, deadline) }
}

async function poll(call: Call, decision: Decision, deadline: number): Promise<Decision> {
  const thread_id = decision.thread_id
  const left = deadline - performance.now()
  if (thread_id === undefined) throw withoutThread()
  // compares in this direction, because NaN must end the wait; a call without time is asked about once
  const isLast = !(left > 0)
  const waitSeconds = isLast ? 0 : Math.max(1, Math.min(POLL_SECONDS, Math.ceil(left / 1_000)))
  const asked = performance.now()
  const context = contextOf(call, decision)
  // reviewers continue to decide while the gateway restarts
  const patient = isLast ? context : { ...context, until: deadline }
  const answer = await withRetry(() => call.client.poll({ thread_id }, { waitSeconds, ...context }), patient)
  checkThread(answer, thread_id)
  if (answer.status === 'pending_review') {
    if (isLast)
      throw new StillPending('no reviewer decided in the time that the agent may wait', { thread_id })
    const early = pollAfterMs(answer, waitSeconds) - (performance.now() - asked)
    if (early > 0) await pause(Math.min(early, deadline - performance.now()), context)
  }
  return answer
}

/**
 * The time from one poll to the next, ms: the gateway's recommendation (docs/agent-api.md, Decision), but at most the
 * time it may hold a poll. After a poll that was held that long, no pause is needed.
 *
 * @param waitSeconds the time that the gateway may hold the poll
 */
export function pollAfterMs({ recommended_poll_after_seconds: wish }: Decision, waitSeconds: number): number {
  // the JSON may break its type
  const seconds = typeof wish === 'number' && wish > 0 ? Math.min(wish, waitSeconds) : 0
  return Math.max(LEAST_POLL_MS, seconds * 1_000)
}

async function revise(call: Call, action: Own, decision: Decision): Promise<Own> {
  const { thread_id, message = 'the reviewers asked for changes' } = decision
  const context = contextOf(call, decision)
  const payload = await orAborted(revisedPayload(call, action, decision), context)
  if (payload === undefined || thread_id === undefined) throw new ChangesRequested(message, { thread_id })
  return (await revision(call, thread_id, payload)).action
}

/** Replaces the action in the same thread. Returns the new action, and the status of the thread. */
export async function revision(
  call: Call,
  thread_id: string,
  value: unknown,
): Promise<{ readonly action: Own; readonly status: Decision['status'] | undefined }> {
  const context = { signal: call.signal, thread_id }
  const next = await actionOf(call, call.carrier.toPayload(value), { nonce: crypto.randomUUID() })
  await checkLocally(call, next.payload)
  // keeps only claims that policy reads again; preview, summary and images described the old payload
  const { subject = call.tool, workflow_name, task_label, risk_level } = call.claims
  const revision = {
    revision_id: crypto.randomUUID(),
    tool_name: call.tool,
    subject,
    workflow_name,
    task_label,
    risk_level,
    request_payload: next.payload,
    action_hash: next.hash,
  }
  const event_type = `revision.${call.taskId}.${thread_id}`
  const event = { event_type, event_summary: 'revised as the reviewers asked', payload: { revision } }
  const once = { ...context, tries: 1 }
  const { status } = await withRetry(() => call.client.record(call.taskId, event, context), once)
  return { action: { ...next, value }, status }
}

/** @throws NotExecuted when `revise` throws: the changes were not made */
async function revisedPayload(call: Call, action: Own, decision: Decision): Promise<unknown> {
  const { thread_id, message = 'the reviewers asked for changes' } = decision
  try {
    return await call.revise?.(message, action.value as Payload)
  } catch (cause) {
    throw new ChangesRequested(message, { thread_id, cause })
  }
}

/** Turns every error before the run, even an unexpected answer, into one kind of error. */
export function asNotExecuted(error: unknown): NotExecuted {
  return error instanceof NotExecuted ? error : new GatewayUnavailable(messageOf(error), { cause: error })
}
