/// <reference lib="esnext.disposable" preserve="true" />
import { deadlineOf } from './abort.ts'
import { checkedCopy } from './canonical-json.ts'
import { baseOf, type Client, createClient } from './client.ts'
import { Aborted, type Code, messageOf, NotExecuted, withDetails } from './errors.ts'
import {
  asNotExecuted,
  type AuthorizedCall,
  type Call,
  checkEcho,
  checkThread,
  handleOf,
  permitted,
  proposed,
  refused,
  revision,
  type Step,
} from './flow.ts'
import { checkedHandle, type Handle, payloadOf, sized } from './handle.ts'
import { heldNotice } from './held-notice.ts'
import { createFreshAllows, createUsedAllows } from './idempotency.ts'
import type { Claims, GateOptions, GuardOptions, Limits, ProposeOptions, ResumeOptions } from './options.ts'
import { checkAborted, orAborted, withRetry } from './retry.ts'
import type { Decision, Json, JsonObjectOf, Payload, ResolvedTool } from './types.ts'
import { giveUp, withdrawAll } from './withdraw.ts'

/** The gate that an agent runtime places before every governed tool (docs/agent-api.md). */
export interface Gate {
  /** The client of the same gateway, for all other requests. */
  readonly client: Client
  /** Serves a held call that has no hook of its own: the option of the gate, or a line on standard error. */
  readonly onPending: (decision: Decision) => unknown
  /**
   * Runs `execute` only when the gateway allowed the call, or reviewers approved it and its proof was redeemed. It is
   * `propose` and `resume`, and reports how the call ended.
   *
   * @param payload a plain JSON object, declared by a `type` or an `interface`. The payload is copied before the first
   * request.
   * @param execute receives the deep-frozen approved copy. The function runs at most once.
   * @throws NotExecuted in all other cases: a subclass for each reason. Errors of `execute` pass through. A nested
   * NotExecuted becomes the cause of an Error, because the outer call ran.
   */
  guard: Guard
  /**
   * Gets permission for runtimes that execute elsewhere, such as the hook of a coding agent. Resolves with the approved
   * payload when the call may run once. At that time, the proof has been redeemed. Reports nothing.
   *
   * @throws NotExecuted under the same conditions as guard
   */
  authorize(tool: string, payload: Payload, options?: GuardOptions<Payload>): Promise<Payload>
  /**
   * Proposes a call, and does not wait for reviewers. `resume` continues it from the handle, in any process. At the end
   * of an `await using` block, a call that has not been redeemed is withdrawn.
   *
   * @throws NotExecuted when policy rejects the call; TypeError for a `callId` that no handle can hold
   */
  propose(tool: string, payload: Payload, options: ProposeOptions): Promise<Handle & AsyncDisposable>
  /** Reads the decision on a proposed call. The proof stays inside. */
  decision(handle: Handle): Promise<Omit<Decision, 'approval_token' | 'token_expires_at'>>
  /**
   * Runs exactly the approved payload, once, as `guard` does.
   *
   * @throws NotExecuted unless the call may run; TypeError for a value that is no handle
   */
  resume<T>(handle: Handle, run: (approved: Payload) => Promise<T> | T, options?: ResumeOptions): Promise<T>
  /** Replaces the payload in the same thread, as the reviewers ask. Returns the new handle. */
  revise(handle: Handle, payload: Payload): Promise<Handle>
  /** Withdraws a proposed call. `false`: its proof was redeemed before. */
  withdraw(handle: Handle, reason?: string): Promise<boolean>
  /** The console page of a held call. A call that was allowed at once has none. */
  pageOf(handle: Pick<Handle, 'thread_id'>): string | undefined
}

/**
 * Two ways to declare a JSON payload: TypeScript accepts no `interface` for the first, and no generic type for the
 * second.
 */
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
/** Time in which the same call may be made again after the caller's time-out, seconds. */
const GRACE_SECONDS = 120
/** Time that a deadline leaves for the redemption, ms. */
const REDEMPTION_MS = 1_000
/** Refusals of calls that still wait. */
const WAITING: readonly Code[] = ['still_pending', 'changes_requested', 'gateway_unavailable']
/** Maximum number of proofs that `decision` keeps for `resume`. A dropped proof is replaced. */
const MOST_PROOFS = 1_000

/** @throws TypeError for options with which no call could work */
export function createGate(options: GateOptions = {}): Gate {
  const client = createClient(options)
  const gate = { ...options }
  const page = gate.consoleUrl === undefined ? baseOf(options) : baseOf({ url: gate.consoleUrl })
  const notice = heldNotice(page)
  const gateWaitMs = gate.maxWaitMs ?? DEFAULT_WAIT_MS
  const contracts = new Map<string, ResolvedTool>()
  const clock = (): number => performance.now()
  const usedAllows = createUsedAllows(clock)
  const freshAllows = createFreshAllows(clock)
  const proofs = new Map<string, Decision>()
  const redeemed = new WeakSet<object>()
  const pageOf: Gate['pageOf'] = ({ thread_id }) =>
    thread_id === undefined ? undefined : `${page}/console/#/thread/${thread_id}`
  // created with the first call, because Workers have no randomness while a module loads
  let ownTask = gate.taskId
  const callOf = (tool: string, options: GuardOptions<Payload>, isWaiting = true): Call => ({
    client,
    contracts,
    tool,
    onPending:
      options.onPending ??
      gate.onPending ??
      ((decision) => notice(decision, isWaiting ? (options.maxWaitMs ?? gateWaitMs) : undefined)),
    revise: options.revise,
    beforeProof: options.beforeProof,
    taskId: options.taskId ?? (ownTask ??= `task-${crypto.randomUUID()}`),
    callId: options.callId ?? crypto.randomUUID(),
    answers: [],
    // only ids of the caller can be repeated
    comesAgain: options.callId !== undefined,
    usedAllows: options.callId === undefined ? createUsedAllows(clock) : usedAllows,
    maxWaitMs: options.maxWaitMs ?? gateWaitMs,
    signal: options.signal,
    claims: checkedCopy(claimsOf(options), 'what the call says of itself'),
    unsignedApprovals: gate.unsignedApprovals === true,
    latest: Infinity,
    at: {},
  })
  const callFrom = (handle: Handle, options: ResumeOptions): Call =>
    callOf(handle.tool_name, { ...options, taskId: handle.task_id, callId: handle.nonce })
  /** Limits the time of a call, completes its refusal, and ends a call that its caller gave up. */
  const governed = async <T>(call: Call, limits: Limits, work: (call: Call) => Promise<T>): Promise<T> => {
    const { deadlineMs, graceSeconds = GRACE_SECONDS } = limits
    const deadline = deadlineMs === undefined ? undefined : deadlineOf(deadlineMs, call.signal)
    const latest = clock() + (deadlineMs ?? Infinity) - Math.min(REDEMPTION_MS, (deadlineMs ?? 0) / 10)
    try {
      return await work(deadline === undefined ? call : { ...call, signal: deadline.signal, latest })
    } catch (cause) {
      const error = asNotExecuted(cause)
      const thread_id = error.thread_id ?? call.at.step?.decision.thread_id
      const handle = WAITING.includes(error.code) ? openHandle(call, thread_id) : undefined
      withDetails(error, { thread_id, console_url: pageOf({ thread_id } as Handle), handle })
      if (error.code === 'aborted') await giveUp(client, call.answers, thread_id)
      else if (call.signal?.aborted && error.code === 'still_pending' && graceSeconds < Infinity)
        await giveUp(client, call.answers, thread_id, { graceSeconds })
      throw error
    } finally {
      deadline?.end()
    }
  }
  const authorized = (call: Call, limits: Limits, first: (call: Call) => Promise<Step>) =>
    governed(call, limits, async (call) => {
      const done = await permitted(call, await first(call))
      checkAborted({ signal: call.signal, thread_id: done.thread_id })
      return done
    })
  const run = <T>(call: Call, done: AuthorizedCall, execute: (payload: Payload) => Promise<T> | T) => {
    // checks again as the last step, because no wait may happen between this check and the call
    checkAborted({ signal: call.signal, thread_id: done.thread_id })
    return executeAndReport(call, done, () => execute(done.payload))
  }
  // copies the caller's objects before the first wait, so that later changes have no effect
  const guard = async <T>(
    tool: string,
    payload: Payload,
    execute: (payload: Payload) => Promise<T> | T,
    options: GuardOptions<Payload> = {},
  ): Promise<T> => {
    const [call, copy] = [callOf(tool, options), checkedCopy(payload, 'the payload')]
    return run(call, await authorized(call, options, (call) => proposed(call, copy)), execute)
  }
  const withdraw: Gate['withdraw'] = async (value, reason) => {
    const { thread_id, action_hash } = checkedHandle(value)
    if (thread_id === undefined) return freshAllows.take(action_hash)
    try {
      await withRetry(() => client.withdraw(thread_id, { reason }), { thread_id })
      return true
    } catch (error) {
      if (error instanceof NotExecuted && error.problem === 'not_pending') return false
      throw error
    }
  }
  const decision = async (value: Handle): Promise<Decision> => {
    const { status, task_id, thread_id, action_hash } = checkedHandle(value)
    if (status === 'allow' || thread_id === undefined) return { status: 'allow', task_id, action_hash }
    const answer = await withRetry(() => client.poll({ thread_id }), { thread_id })
    checkThread(answer, thread_id)
    if (answer.status === 'approved') checkEcho({ taskId: task_id }, answer, { hash: action_hash })
    if (answer.status !== 'approved') proofs.delete(thread_id)
    else if (answer.approval_token !== undefined) proofs.set(thread_id, answer)
    const [oldest = ''] = proofs.keys()
    if (proofs.size > MOST_PROOFS) proofs.delete(oldest)
    return answer
  }
  /** The first step of a call that this or another process proposed. */
  const stepOf = async (call: Call, handle: Handle, payload: Payload): Promise<Step> => {
    const { task_id, nonce, again, thread_id, action_hash } = handle
    const action = { payload, hash: action_hash, nonce, ...(again === undefined ? {} : { again }) }
    if (thread_id === undefined) {
      // another process may have proposed the call or used its allow, so policy judges it again
      if (!freshAllows.take(action_hash)) return proposed(call, payload)
      return { action, decision: { status: 'allow', task_id, action_hash } }
    }
    const known = proofs.get(thread_id)
    proofs.delete(thread_id)
    return { action, decision: known ?? { status: 'pending_review', task_id, thread_id } }
  }
  return {
    client,
    onPending: gate.onPending ?? ((decision) => notice(decision, gateWaitMs)),
    guard: guard as Guard,
    authorize: async (tool, payload, options = {}) => {
      const [call, copy] = [callOf(tool, options), checkedCopy(payload, 'the payload')]
      return (await authorized(call, options, (call) => proposed(call, copy))).payload
    },
    propose: async (tool, payload, { keepPayload = true, ...options }) => {
      const [call, copy] = [callOf(tool, options, false), checkedCopy(payload, 'the payload')]
      checkSize(call)
      const { payload: kept, ...small } = await governed(call, options, async (call) => {
        const step = await proposed(call, copy)
        const handle = handleOf(call, step)
        checkEcho(call, step.decision, step.action)
        if (handle.status === 'allow') freshAllows.keep(handle.action_hash)
        if (handle.status === 'pending_review') await tellPending(call, step.decision)
        checkAborted({ signal: call.signal, thread_id: handle.thread_id })
        return handle
      })
      const handle = keepPayload && kept !== undefined ? { ...small, payload: kept } : small
      const dispose = async (): Promise<void> => {
        freshAllows.take(handle.action_hash)
        if (!redeemed.has(handle)) await withdrawAll(client, [Promise.resolve(handle.thread_id)])
      }
      return Object.defineProperty(handle, Symbol.asyncDispose, { value: dispose }) as Handle &
        AsyncDisposable
    },
    decision: async (handle) => {
      const { approval_token: _, token_expires_at: __, ...told } = await decision(handle)
      return told
    },
    resume: async (value, execute, options = {}) => {
      const handle = checkedHandle(value)
      const payload = await payloadOf(handle, options.payload as Payload | undefined).catch(
        (error: unknown) => {
          throw error instanceof NotExecuted ? withDetails(error, { console_url: pageOf(handle) }) : error
        },
      )
      // whoever proposed a held call was told of it
      const told = handle.thread_id === undefined ? {} : { onPending: () => undefined }
      const call = callFrom(handle, { ...options, ...told })
      const done = await authorized(call, options, async (call) => {
        checkAborted({ signal: call.signal, thread_id: handle.thread_id })
        return (call.at.step = await stepOf(call, handle, payload))
      })
      redeemed.add(value)
      return run(call, done, execute)
    },
    revise: (value, payload) => {
      const handle = checkedHandle(value)
      const { task_id, thread_id } = handle
      if (thread_id === undefined) throw new TypeError('this call was allowed at once: no review to revise')
      const call = callFrom(handle, {})
      return governed(call, {}, async (call) => {
        const { action, status = 'pending_review' } = await revision(call, thread_id, payload)
        if (status !== 'pending_review' && status !== 'approved')
          throw refused({ status, task_id, thread_id })
        return handleOf(call, { action, decision: { status: 'pending_review', task_id, thread_id } })
      })
    },
    withdraw,
    pageOf,
  }
}

/** @throws TypeError before the first request, if no handle can hold the ids of the call */
function checkSize({ taskId, tool, callId }: Call): void {
  const [action_hash, thread_id] = ['0'.repeat(64), '0'.repeat(64)]
  const about = { task_id: taskId, tool_name: tool, nonce: callId, action_hash, thread_id, again: 1_000 }
  sized({ v: 1, status: 'pending_review', ...about })
}

/** The handle of the call's thread; undefined without a thread, and for ids that no handle can hold. */
function openHandle(call: Call, thread_id: string | undefined): Handle | undefined {
  const { step } = call.at
  if (step === undefined || thread_id === undefined) return undefined
  try {
    return handleOf(call, { ...step, decision: { ...step.decision, status: 'pending_review', thread_id } })
  } catch {
    return undefined
  }
}

/** @throws NotExecuted when `onPending` fails, because its audience does not know that the call waits */
async function tellPending({ onPending, signal }: Call, decision: Decision): Promise<void> {
  const { thread_id } = decision
  const told = (async () => onPending?.({ ...decision }))().catch((cause: unknown) => {
    throw new Aborted(`onPending failed: ${messageOf(cause)}`, { thread_id, cause })
  })
  await orAborted(told, { signal, thread_id })
}

/** The claims without undefined members. */
function claimsOf(guard: Claims): { readonly [key: string]: Json } {
  const { workflow_name, task_label, subject, preview, risk_level, summary, images } = guard
  const claims = { workflow_name, task_label, subject, preview, risk_level, summary, images }
  return Object.fromEntries(
    Object.entries(claims).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

/**
 * Executes the tool and reports the result. The report is evidence, not permission, so a failed report does not affect
 * the result.
 */
async function executeAndReport<T>(
  { client, tool, taskId }: Call,
  { thread_id }: AuthorizedCall,
  execute: () => Promise<T> | T,
): Promise<T> {
  const report = async (event_type: string, event_summary: string): Promise<void> => {
    const payload = { tool_name: tool, ...(thread_id === undefined ? {} : { thread_id }) }
    await client.record(taskId, { event_type, event_summary, payload }).catch(() => undefined)
  }
  try {
    const value = await execute()
    await report('tool.execution.completed', `${tool} completed`)
    return value
  } catch (error) {
    await report('tool.execution.failed', `${tool} failed`)
    // a nested guarded call was refused, but the outer call ran
    if (error instanceof NotExecuted)
      throw new Error(`${tool} ran, and failed: ${error.reason}`, { cause: error })
    throw error
  }
}
