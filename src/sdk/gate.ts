import { actionHash, frozenCopy } from './canonical.ts'
import { type Client, type ClientOptions, createClient } from './client.ts'
import { CountersignError } from './error.ts'
import { type Misfit, misfits } from './fits.ts'
import type { Decision, DecisionRequest, Json, Payload, ResolvedTool } from './types.ts'

/** What an agent runtime wraps around every governed tool (agent-api-contract.md section 1). */
export interface Gate {
  readonly client: Client
  /**
   * Runs `execute` only when the gateway allowed the call, or people approved it and its one-time proof was redeemed.
   * Resolves the contract, checks the payload, hashes the immutable action, submits, waits, redeems, executes, reports.
   *
   * @throws NotExecuted in every other case: rejected, changes requested, waited too long, unknown, or the gateway unreachable.
   *   What `execute` itself throws passes through.
   */
  guard<T, P extends Payload>(
    tool: string,
    payload: P,
    execute: (payload: P) => Promise<T> | T,
    options?: GuardOptions<P>,
  ): Promise<T>
}

export interface GateOptions extends ClientOptions {
  /** Groups the calls of one piece of work; a new random one for each gate when absent. */
  readonly taskId?: string
  /** Longest time to wait for people, ms. Default 15 minutes. */
  readonly maxWaitMs?: number
  /**
   * Set only for an agent whose directory entry says `signed_approvals: false`: approvals then carry no proof. With signed approvals it
   * would run a call whose proof another reader of the same thread holds.
   */
  readonly unsignedApprovals?: boolean
}

export interface GuardOptions<P extends Payload> extends Pick<
  DecisionRequest,
  'workflow_name' | 'task_label' | 'subject' | 'preview' | 'risk_level' | 'summary' | 'images'
> {
  readonly taskId?: string
  readonly maxWaitMs?: number
  readonly signal?: AbortSignal
  /** Told once, when people have to decide. */
  readonly onPending?: (decision: Decision) => void
  /** Answers reviewers who asked for changes with a new payload for the same thread; undefined gives up. */
  readonly revise?: (feedback: string, payload: P) => Promise<P | undefined> | P | undefined
}

export type Outcome =
  | 'rejected'
  | 'changes_requested'
  | 'timeout'
  | 'aborted'
  | 'invalid_payload'
  | 'unknown_tool'
  | 'no_proof'
  | 'proof_refused'
  | 'gateway_error'
  | 'unknown_status'

/** The call did not run. `outcome` says why, `message` is fit for the model. */
export class NotExecuted extends Error {
  override readonly name = 'NotExecuted'
  readonly outcome: Outcome
  readonly thread_id: string | undefined

  constructor(
    outcome: Outcome,
    message: string,
    facts: { thread_id?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: facts.cause })
    this.outcome = outcome
    this.thread_id = facts.thread_id
  }
}

const DEFAULT_WAIT_MS = 15 * 60_000
const POLL_SECONDS = 50
const LEAST_POLL_MS = 1_000
const TRIES = 4
const RETRIED = [429, 502, 503, 504]

export function createGate(options: GateOptions): Gate {
  const client = createClient(options)
  const contracts = new Map<string, ResolvedTool>()
  const ownTask = options.taskId ?? `task-${crypto.randomUUID()}`
  return {
    client,
    guard: async (tool, payload, execute, guard = {}) => {
      const run: Run = {
        client,
        gate: options,
        guard: guard as unknown as GuardOptions<Payload>,
        contracts,
        tool,
        taskId: guard.taskId ?? ownTask,
      }
      const approved = await permitted(run, copied(payload)).catch(notExecuted)
      checkAborted(run, approved.thread_id)
      return reported(run, approved, () => execute(approved.payload as typeof payload))
    },
  }
}

/** @throws NotExecuted for what JSON cannot hold */
function copied(payload: Payload): Payload {
  try {
    return frozenCopy(payload)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new NotExecuted('invalid_payload', `the payload is not JSON: ${why}`, { cause })
  }
}

/** Whatever goes wrong before the call runs, an answer of an unexpected shape included, is one kind of error for the caller. */
function notExecuted(error: unknown): never {
  if (error instanceof NotExecuted) throw error
  throw new NotExecuted('gateway_error', messageOf(error), { cause: error })
}

interface Run {
  readonly client: Client
  readonly gate: GateOptions
  readonly guard: GuardOptions<Payload>
  readonly contracts: Map<string, ResolvedTool>
  readonly tool: string
  readonly taskId: string
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

/** The action that may run now. Everything else is thrown. */
async function permitted(run: Run, payload: Payload): Promise<Action & { thread_id?: string }> {
  await checkLocally(run, payload)
  const submitted = await actionOf(run, payload)
  let step: Step = { action: submitted, decision: await submit(run, submitted) }
  const deadline = Date.now() + (run.guard.maxWaitMs ?? run.gate.maxWaitMs ?? DEFAULT_WAIT_MS)
  if (step.decision.status === 'pending_review') run.guard.onPending?.(step.decision)
  while (isOpen(step.decision)) step = await nextStep(run, step, deadline)
  const { action, decision } = step
  if (decision.status !== 'allow' && decision.status !== 'approved') throw refused(decision)
  checkEcho(decision, action)
  checkAborted(run, decision.thread_id)
  if (decision.status === 'approved') await redeem(run, action, decision)
  return { ...action, ...(decision.thread_id === undefined ? {} : { thread_id: decision.thread_id }) }
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
  if (known && misfits(payload as Json, known.input_schema).length === 0) return []
  const contract = await contractOf(run)
  return misfits(payload as Json, contract.input_schema)
}

async function contractOf(run: Run): Promise<ResolvedTool> {
  const { tools } = await attempt(run, () => run.client.resolve([run.tool], signalOf(run)))
  const contract = tools.find(({ name }) => name === run.tool)
  if (contract === undefined)
    throw new NotExecuted('unknown_tool', `the gateway does not let this agent use ${run.tool}`)
  run.contracts.set(run.tool, contract)
  return contract
}

async function actionOf(run: Run, payload: Payload): Promise<Action> {
  const action = { task_id: run.taskId, tool_name: run.tool, payload, nonce: crypto.randomUUID() }
  return { payload, hash: await actionHash(action) }
}

function submit(run: Run, action: Action): Promise<Decision> {
  const { workflow_name, task_label, subject, preview, risk_level, summary, images } = run.guard
  const claims = { workflow_name, task_label, subject, preview, risk_level, summary, images }
  const given = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined))
  const request = { tool_name: run.tool, payload: action.payload, action_hash: action.hash, ...given }
  const options = { ...signalOf(run), idempotencyKey: action.hash }
  return attempt(run, () => run.client.submit(run.taskId, request, options))
}

/** The gateway must be talking about this action and no other. */
function checkEcho(decision: Decision, action: Action): void {
  if (decision.action_hash === action.hash) return
  throw new NotExecuted('unknown_status', 'the decision is about another action', {
    thread_id: decision.thread_id,
  })
}

async function wait(run: Run, decision: Decision, deadline: number): Promise<Decision> {
  const thread_id = decision.thread_id
  const left = deadline - Date.now()
  if (thread_id === undefined) throw new NotExecuted('unknown_status', 'a pending decision without a thread')
  if (left <= 0)
    throw new NotExecuted('timeout', 'nobody decided in the time the agent may wait', { thread_id })
  const waitSeconds = Math.max(1, Math.min(POLL_SECONDS, Math.ceil(left / 1_000)))
  const asked = Date.now()
  const answer = await attempt(run, () => run.client.poll({ thread_id }, { waitSeconds, ...signalOf(run) }))
  // a gateway that does not hold the request is not asked in a tight loop
  const early = Math.min(LEAST_POLL_MS, deadline - Date.now()) - (Date.now() - asked)
  if (answer.status === 'pending_review' && early > 0) await sleep(run, early)
  return answer
}

async function revise(run: Run, action: Action, decision: Decision): Promise<Action> {
  const { thread_id, message = 'the reviewers asked for changes' } = decision
  const payload = await run.guard.revise?.(message, action.payload)
  if (payload === undefined || thread_id === undefined)
    throw new NotExecuted('changes_requested', message, { thread_id })
  const next = await actionOf(run, frozenCopy(payload))
  await checkLocally(run, next.payload)
  const revision = {
    revision_id: crypto.randomUUID(),
    tool_name: run.tool,
    subject: run.guard.subject ?? run.tool,
    request_payload: next.payload,
    action_hash: next.hash,
  }
  const event_type = `revision.${run.taskId}.${thread_id}`
  const event = { event_type, event_summary: 'revised as the reviewers asked', payload: { revision } }
  await attempt(run, () => run.client.record(run.taskId, event, signalOf(run)), 1)
  return next
}

/** A caller who gave up never sees the call run, whenever that was. @throws NotExecuted */
function checkAborted(run: Run, thread_id: string | undefined): void {
  if (run.guard.signal?.aborted) throw new NotExecuted('aborted', 'the caller gave up', { thread_id })
}

/** Redeems the one-time proof immediately before the call runs. Only `valid: true` about this very thread and hash counts. */
async function redeem(run: Run, action: Action, decision: Decision): Promise<void> {
  const { approval_token, thread_id } = decision
  if (approval_token === undefined && run.gate.unsignedApprovals === true) return
  if (approval_token === undefined || thread_id === undefined) {
    throw new NotExecuted('no_proof', 'approved, but no proof was delivered: another reader may hold it', {
      thread_id,
    })
  }
  const request = {
    task_id: run.taskId,
    signature: approval_token,
    request_payload: action.payload,
    thread_id,
    action_hash: action.hash,
  }
  const result = await attempt(run, () => run.client.validate(request, signalOf(run)))
  const proven = result.valid === true && result.thread_id === thread_id && result.action_hash === action.hash
  if (!proven)
    throw new NotExecuted('proof_refused', `the proof was refused: ${result.reason ?? 'invalid'}`, {
      thread_id,
    })
}

/** Reports what happened. The report is evidence, not permission: when it fails the result still stands. */
async function reported<T>(
  run: Run,
  action: { thread_id?: string },
  execute: () => Promise<T> | T,
): Promise<T> {
  const report = async (event_type: string, event_summary: string): Promise<void> => {
    const payload = {
      tool_name: run.tool,
      ...(action.thread_id === undefined ? {} : { thread_id: action.thread_id }),
    }
    await run.client.record(run.taskId, { event_type, event_summary, payload }).catch(() => undefined)
  }
  try {
    const value = await execute()
    await report('tool.execution.completed', `${run.tool} completed`)
    return value
  } catch (error) {
    await report('tool.execution.failed', `${run.tool} failed`)
    throw error
  }
}

/** Retries what may be retried: no answer, 429, and what a gateway or a proxy says while an instance comes or goes. Every call is safe to repeat: a second redemption only reads `used`. */
async function attempt<T>(run: Run, call: () => Promise<T>, tries = TRIES): Promise<T> {
  for (let left = tries; ;) {
    try {
      return await call()
    } catch (error) {
      left--
      if (run.guard.signal?.aborted) throw gaveUp(error)
      if (left <= 0 || !retryable(error))
        throw new NotExecuted('gateway_error', messageOf(error), { cause: error })
      await pause(run, error, tries - left)
    }
  }
}

function retryable(error: unknown): boolean {
  return error instanceof CountersignError && (error.status === undefined || RETRIED.includes(error.status))
}

function pause(run: Run, error: unknown, attempts: number): Promise<void> {
  const asked = error instanceof CountersignError ? error.retryAfter : undefined
  const ms = asked === undefined ? 100 * 2 ** attempts : Math.min(asked, 30) * 1_000
  return sleep(run, ms)
}

/** @throws NotExecuted as soon as the caller gives up */
function sleep({ guard: { signal } }: Run, ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer)
      reject(gaveUp(signal?.reason))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

function gaveUp(cause: unknown): NotExecuted {
  return new NotExecuted('aborted', 'the caller gave up', { cause })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function signalOf(run: Run): { signal?: AbortSignal } {
  return run.guard.signal === undefined ? {} : { signal: run.guard.signal }
}
