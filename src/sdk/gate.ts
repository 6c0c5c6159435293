import { type Allows, createAllows } from './allows.ts'
import { attempt, type Attempted, checkAborted, messageOf, orAborted, pause } from './attempt.ts'
import { actionHash, type Which } from './canonical.ts'
import { type Client, createClient } from './client.ts'
import { copied } from './copied.ts'
import { type Misfit, misfits } from './fits.ts'
import type { Claims, GateOptions, GuardOptions } from './options.ts'
import { NotExecuted } from './outcome.ts'
import { pollAfterMs } from './poll-after.ts'
import { reported } from './reported.ts'
import { type Submission, submit } from './submit.ts'
import { tell } from './telling.ts'
import type { Decision, Json, JsonObjectOf, Payload, ResolvedTool } from './types.ts'
import { withdrawIfAborted } from './withdraw.ts'

/** What an agent runtime wraps around every governed tool (docs/agent-api.md). */
export interface Gate {
  /** The same gateway without opinions, for what `guard` does not do. */
  readonly client: Client
  /**
   * Runs `execute` only when the gateway allowed the call, or people approved it and its one-time proof was redeemed.
   * Resolves the contract, checks the payload, hashes the immutable action, submits, waits, redeems, executes, reports.
   *
   * @param payload a plain object of JSON, declared by a `type` or an `interface`. It is copied before anything is asked.
   * @param execute gets the copy that was approved, frozen in depth. It is called once or not at all.
   * @throws NotExecuted in every other case: rejected, changes requested, waited too long, unknown, or the gateway unreachable.
   *   What `execute` itself throws passes through; a NotExecuted of another call is the cause of an Error then, because this call ran.
   */
  guard: Guard
  /**
   * The same for runtimes that execute elsewhere, such as the hook of a coding agent: resolves when the call may run now, once, with what was approved, and
   * reports nothing. Its proof is redeemed by then.
   *
   * @throws NotExecuted as guard does
   */
  permit(tool: string, payload: Payload, options?: GuardOptions<Payload>): Promise<Payload>
}

/** Two ways to say that a payload is JSON: TypeScript takes no `interface` for the first, and nothing generic for the second. */
export interface Guard {
  <T, P extends Payload>(
    tool: string,
    payload: P,
    execute: (payload: P) => Promise<T> | T,
    options?: GuardOptions<P>,
  ): Promise<T>
  <T, P extends object>(
    tool: string,
    payload: P & JsonObjectOf<P>,
    execute: (payload: P) => Promise<T> | T,
    options?: GuardOptions<P>,
  ): Promise<T>
}

const DEFAULT_WAIT_MS = 15 * 60_000
const POLL_SECONDS = 50
/** Allows of one id that others may have used before: more is no gateway that tells old answers from new ones. */
const MOST_REPLAYED = 1_000

/** @throws TypeError for options that no call could work with */
export function createGate(options: GateOptions): Gate {
  const client = createClient(options)
  const gate = { ...options }
  const contracts = new Map<string, ResolvedTool>()
  const clock = (): number => performance.now()
  const allows = createAllows(clock)
  const ownTask = gate.taskId ?? `task-${crypto.randomUUID()}`
  const runOf = (tool: string, options: GuardOptions<Payload>): Run => ({
    client,
    contracts,
    tool,
    onPending: options.onPending,
    revise: options.revise,
    taskId: options.taskId ?? ownTask,
    callId: options.callId ?? crypto.randomUUID(),
    answers: [],
    // nobody comes again under an id that nobody knows
    comesAgain: options.callId !== undefined,
    allows: options.callId === undefined ? createAllows(clock) : allows,
    maxWaitMs: options.maxWaitMs ?? gate.maxWaitMs ?? DEFAULT_WAIT_MS,
    signal: options.signal,
    claims: copied(claimsOf(options), 'what the call says of itself'),
    unsignedApprovals: gate.unsignedApprovals === true,
  })
  // everything of the caller's is copied before the first wait: nothing that it does to it later counts
  const guard = async <T>(
    tool: string,
    payload: Payload,
    execute: (payload: Payload) => Promise<T> | T,
    options: GuardOptions<Payload> = {},
  ): Promise<T> => {
    const run = runOf(tool, options)
    const approved = await permitted(run, copied(payload, 'the payload'))
    // here and not before it returns: nothing may come between this and the call
    checkAborted({ signal: run.signal, thread_id: approved.thread_id })
    return reported(run, approved, () => execute(approved.payload))
  }
  return {
    client,
    guard: guard as Guard,
    permit: async (tool, payload, options = {}) =>
      (await permitted(runOf(tool, options), copied(payload, 'the payload'))).payload,
  }
}

/** Members that are undefined are not given. */
function claimsOf(guard: Claims): { readonly [key: string]: Json } {
  const { workflow_name, task_label, subject, preview, risk_level, summary, images } = guard
  const claims = { workflow_name, task_label, subject, preview, risk_level, summary, images }
  return Object.fromEntries(
    Object.entries(claims).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

/** Whatever goes wrong before the call runs, an answer of an unexpected shape included, is one kind of error for the caller. */
function notExecuted(error: unknown): never {
  if (error instanceof NotExecuted) throw error
  throw new NotExecuted('gateway_error', messageOf(error), { cause: error })
}

type Permitted = Action & { thread_id?: string }

/** The action that may run now. @throws NotExecuted for everything else */
async function permitted(run: Run, payload: Payload): Promise<Permitted> {
  try {
    const approved = await decided(run, payload).catch(notExecuted)
    checkAborted({ signal: run.signal, thread_id: approved.thread_id })
    return approved
  } catch (error) {
    await withdrawIfAborted(run.client, run.answers, error)
    throw error
  }
}

interface Run {
  readonly client: Client
  readonly contracts: Map<string, ResolvedTool>
  readonly tool: string
  readonly taskId: string
  readonly callId: string
  /** What the gateway answers to this call, also when nobody waits for it any more. */
  readonly answers: Promise<Decision>[]
  /** Others may know the id: another process, or this one before it was started again. */
  readonly comesAgain: boolean
  readonly allows: Allows
  readonly maxWaitMs: number
  readonly signal: AbortSignal | undefined
  readonly onPending: GuardOptions<Payload>['onPending'] | undefined
  readonly revise: GuardOptions<Payload>['revise'] | undefined
  readonly claims: Claims
  readonly unsignedApprovals: boolean
}

/** One immutable action and the hash that was submitted for it. */
interface Action {
  readonly payload: Payload
  readonly hash: string
}

interface Step {
  readonly action: Action
  readonly decision: Decision
}

async function decided(run: Run, payload: Payload): Promise<Permitted> {
  await checkLocally(run, payload)
  const { action, decision } = await decidedByPeople(run, await submitted(run, payload))
  if (decision.status !== 'allow' && decision.status !== 'approved') throw refused(decision)
  checkEcho(run, decision, action)
  checkAborted(aboutOf(run, decision))
  if (decision.status === 'approved') await redeem(run, action, decision)
  return { ...action, ...(decision.thread_id === undefined ? {} : { thread_id: decision.thread_id }) }
}

/**
 * An allow is for one run: who comes again under the same id is judged again, by the limits and the history of then. Which were used in this process is known; of
 * the others the gateway says that it gave them before. Whether the first answer was lost on its way here, or used by somebody else who knows the id, nobody can
 * tell: it rather counts twice than runs twice.
 */
async function submitted(run: Run, payload: Payload): Promise<Step> {
  const first = await actionOf(run, payload, { nonce: run.callId })
  for (let replays = 0; replays <= MOST_REPLAYED;) {
    const again = run.allows.used(first.hash)
    const action = again === 0 ? first : await actionOf(run, payload, { nonce: run.callId, again })
    const { decision, replayed } = await submit(run.client, submissionOf(run, action))
    if (decision.status !== 'allow') return { action, decision }
    const mayBeUsed = replayed && run.comesAgain
    if (run.allows.use(first.hash, again) && !mayBeUsed) return { action, decision }
    if (mayBeUsed) replays++
  }
  throw new NotExecuted('gateway_error', 'allowed, but every answer is said to have been given before')
}

/** As it is, when nobody has to decide. @throws NotExecuted when nobody does, or whoever was told of it fails */
async function decidedByPeople(run: Run, first: Step): Promise<Step> {
  if (!isOpen(first.decision)) return first
  // not the clock on the wall, which somebody may set
  const deadline = performance.now() + run.maxWaitMs
  const listener = first.decision.status === 'pending_review' ? run.onPending : undefined
  const telling = tell(listener, first.decision, run.signal)
  const waiting = { ...run, signal: telling.signal }
  let step = first
  try {
    while (isOpen(step.decision)) step = await nextStep(waiting, step, deadline)
    telling.check()
    return step
  } catch (error) {
    telling.check()
    throw error
  } finally {
    telling.end()
  }
}

function isOpen(decision: Decision): boolean {
  return decision.status === 'pending_review' || decision.status === 'changes_requested'
}

async function nextStep(run: Run, { action, decision }: Step, deadline: number): Promise<Step> {
  const current = decision.status === 'changes_requested' ? await revise(run, action, decision) : action
  return { action: current, decision: await wait(run, decision, deadline) }
}

function refused(decision: Decision): NotExecuted {
  const known = decision.status === 'reject' || decision.status === 'rejected'
  const message = decision.message ?? `the gateway answered ${decision.status}`
  return new NotExecuted(known ? 'rejected' : 'unknown_status', message, { thread_id: decision.thread_id })
}

async function checkLocally(run: Run, payload: Payload): Promise<void> {
  const found = await misfitsOf(run, payload)
  if (found.length === 0) return
  const places = found.map(({ pointer, message }) => `${pointer === '' ? 'the payload' : pointer} ${message}`)
  throw new NotExecuted(
    'invalid_payload',
    `the payload does not fit the contract of ${run.tool}: ${places.join('; ')}`,
  )
}

/** A contract that was resolved before may be out of date: it never refuses a payload without being asked for again. */
async function misfitsOf(run: Run, payload: Payload): Promise<Misfit[]> {
  const known = run.contracts.get(run.tool)
  if (known && judged(payload, known)?.length === 0) return []
  const contract = await contractOf(run)
  const found = judged(payload, contract)
  if (found === undefined)
    throw new NotExecuted('gateway_error', `the contract of ${run.tool} cannot be read`)
  run.contracts.set(run.tool, contract)
  return found
}

/** Undefined by a contract that is none. */
function judged(payload: Payload, { input_schema }: ResolvedTool): Misfit[] | undefined {
  try {
    return misfits(payload as Json, input_schema)
  } catch {
    return undefined
  }
}

async function contractOf(run: Run): Promise<ResolvedTool> {
  const { tools } = await attempt(() => run.client.resolve([run.tool], run), run)
  const contract = tools.find((one) => (one as ResolvedTool | null)?.name === run.tool)
  if (contract === undefined)
    throw new NotExecuted('unknown_tool', `the gateway does not let this agent use ${run.tool}`)
  return contract
}

async function actionOf(run: Run, payload: Payload, which: Which): Promise<Action> {
  const action = { task_id: run.taskId, tool_name: run.tool, payload, ...which }
  return { payload, hash: await actionHash(action) }
}

function submissionOf(run: Run, { payload, hash }: Action): Submission {
  const { tool, claims, signal, taskId } = run
  const request = { ...claims, tool_name: tool, payload, action_hash: hash }
  const sent = (answer: Promise<Decision>): void => void run.answers.push(answer)
  return { taskId, request, idempotencyKey: hash, signal, sent }
}

/** The gateway must be talking about this action and no other. */
function checkEcho({ taskId }: Run, decision: Decision, action: Action): void {
  if (decision.action_hash === action.hash && decision.task_id === taskId) return
  throw new NotExecuted('unknown_status', 'the decision is about another action', {
    thread_id: decision.thread_id,
  })
}

async function wait(run: Run, decision: Decision, deadline: number): Promise<Decision> {
  const thread_id = decision.thread_id
  const left = deadline - performance.now()
  if (thread_id === undefined) throw new NotExecuted('unknown_status', 'a pending decision without a thread')
  // so, and not the other way round: a wait that is no number is none
  if (!(left > 0))
    throw new NotExecuted('timeout', 'nobody decided in the time the agent may wait', { thread_id })
  const waitSeconds = Math.max(1, Math.min(POLL_SECONDS, Math.ceil(left / 1_000)))
  const asked = performance.now()
  const about = aboutOf(run, decision)
  // people go on deciding while the gateway is away for a moment
  const patient = { ...about, until: deadline }
  const answer = await attempt(() => run.client.poll({ thread_id }, { waitSeconds, ...about }), patient)
  if (answer.thread_id !== undefined && answer.thread_id !== thread_id)
    throw new NotExecuted('unknown_status', 'the decision is about another thread', { thread_id })
  // what people were asked about has a proof, or is not approved: an allow would run without one
  if (answer.status === 'allow')
    throw new NotExecuted('unknown_status', 'allowed, where people were to decide', { thread_id })
  if (answer.status === 'pending_review') {
    const early = pollAfterMs(answer, waitSeconds) - (performance.now() - asked)
    if (early > 0) await pause(Math.min(early, deadline - performance.now()), about)
  }
  return answer
}

async function revise(run: Run, action: Action, decision: Decision): Promise<Action> {
  const { thread_id, message = 'the reviewers asked for changes' } = decision
  const about = aboutOf(run, decision)
  const payload = await orAborted(revisedBy(run, action, decision), about)
  if (payload === undefined || thread_id === undefined)
    throw new NotExecuted('changes_requested', message, { thread_id })
  const next = await actionOf(run, copied(payload, 'the revised payload'), { nonce: crypto.randomUUID() })
  await checkLocally(run, next.payload)
  // policy asks for these again; what was said of the old payload (preview, summary, images) is not said of the new one
  const { subject = run.tool, workflow_name, task_label, risk_level } = run.claims
  const revision = {
    revision_id: crypto.randomUUID(),
    tool_name: run.tool,
    subject,
    workflow_name,
    task_label,
    risk_level,
    request_payload: next.payload,
    action_hash: next.hash,
  }
  const event_type = `revision.${run.taskId}.${thread_id}`
  const event = { event_type, event_summary: 'revised as the reviewers asked', payload: { revision } }
  await attempt(() => run.client.record(run.taskId, event, about), { ...about, tries: 1 })
  return next
}

/** @throws NotExecuted for what the caller throws: nobody made the changes */
async function revisedBy(run: Run, action: Action, decision: Decision): Promise<Payload | undefined> {
  const { thread_id, message = 'the reviewers asked for changes' } = decision
  try {
    return await run.revise?.(message, action.payload)
  } catch (cause) {
    throw new NotExecuted('changes_requested', message, { thread_id, cause })
  }
}

function aboutOf({ signal }: Run, { thread_id }: Decision): Attempted {
  return { signal, thread_id }
}

const NO_PROOF =
  'approved, but without a proof: an earlier run of this call, another reader, or an answer that was lost, had it, or this agent gets none (signed_approvals: false)'

/** Redeems the one-time proof immediately before the call runs. Only `valid: true` about this very task, thread and hash counts, and without a reason why not. */
async function redeem(run: Run, action: Action, decision: Decision): Promise<void> {
  const { approval_token, thread_id } = decision
  if (approval_token === undefined && run.unsignedApprovals) return
  if (approval_token === undefined || thread_id === undefined) {
    throw new NotExecuted('no_proof', NO_PROOF, { thread_id })
  }
  const request = {
    task_id: run.taskId,
    signature: approval_token,
    request_payload: action.payload,
    thread_id,
    action_hash: action.hash,
  }
  const about = aboutOf(run, decision)
  const result = await attempt(() => run.client.validate(request, about), about)
  const { valid, reason, task_id } = result
  const same = task_id === run.taskId && result.thread_id === thread_id && result.action_hash === action.hash
  // `valid` and a reason contradict each other
  if (valid !== true || reason !== undefined || !same)
    throw new NotExecuted('proof_refused', `the proof was refused: ${reason ?? 'invalid'}`, {
      thread_id,
    })
}
