import { checkedCopy } from './canonical-json.ts'
import { baseOf, type Client, createClient } from './client.ts'
import { NotExecuted } from './errors.ts'
import { asNotExecuted, type Call, decide, type AuthorizedCall } from './flow.ts'
import { heldNotice } from './held-notice.ts'
import { createUsedAllows } from './idempotency.ts'
import type { Claims, GateOptions, GuardOptions } from './options.ts'
import { checkAborted } from './retry.ts'
import type { Decision, Json, JsonObjectOf, Payload, ResolvedTool } from './types.ts'
import { withdrawIfAborted } from './withdraw.ts'

/** The gate that an agent runtime places before every governed tool (docs/agent-api.md). */
export interface Gate {
  /** The client of the same gateway, for all other requests. */
  readonly client: Client
  /** Serves a held call that has no hook of its own: the option of the gate, or a line on standard error. */
  readonly onPending: (decision: Decision) => unknown
  /**
   * Runs `execute` only when the gateway allowed the call, or reviewers approved it and its proof was redeemed.
   * Resolves the contract, checks the payload, hashes the immutable action, submits, waits, redeems, executes, reports.
   *
   * @param payload a plain JSON object, declared by a `type` or an `interface`. The payload is copied before the first
   * request.
   * @param execute receives the deep-frozen approved copy. The function runs at most once.
   * @throws NotExecuted in all other cases: rejected, changes requested, timed out, unknown, or the gateway
   * unreachable. Errors of `execute` pass through. A nested NotExecuted becomes the cause of an Error, because the
   * outer call ran.
   */
  guard: Guard
  /**
   * Gets permission for runtimes that execute elsewhere, such as the hook of a coding agent. Resolves with the approved
   * payload when the call may run once. At that time, the proof has been redeemed. Reports nothing.
   *
   * @throws NotExecuted under the same conditions as guard
   */
  authorize(tool: string, payload: Payload, options?: GuardOptions<Payload>): Promise<Payload>
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

/** @throws TypeError for options with which no call could work */
export function createGate(options: GateOptions = {}): Gate {
  const client = createClient(options)
  const gate = { ...options }
  const notice = heldNotice(baseOf(options))
  const gateWaitMs = gate.maxWaitMs ?? DEFAULT_WAIT_MS
  const contracts = new Map<string, ResolvedTool>()
  const clock = (): number => performance.now()
  const usedAllows = createUsedAllows(clock)
  // created with the first call, because Workers have no randomness while a module loads
  let ownTask = gate.taskId
  const callOf = (tool: string, options: GuardOptions<Payload>): Call => ({
    client,
    contracts,
    tool,
    onPending:
      options.onPending ??
      gate.onPending ??
      ((decision) => notice(decision, options.maxWaitMs ?? gateWaitMs)),
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
  })
  // copies the caller's objects before the first wait, so that later changes have no effect
  const guard = async <T>(
    tool: string,
    payload: Payload,
    execute: (payload: Payload) => Promise<T> | T,
    options: GuardOptions<Payload> = {},
  ): Promise<T> => {
    const call = callOf(tool, options)
    const authorized = await authorize(call, checkedCopy(payload, 'the payload'))
    // checks again as the last step, because no wait may happen between this check and the call
    checkAborted({ signal: call.signal, thread_id: authorized.thread_id })
    return executeAndReport(call, authorized, () => execute(authorized.payload))
  }
  return {
    client,
    onPending: gate.onPending ?? ((decision) => notice(decision, gateWaitMs)),
    guard: guard as Guard,
    authorize: async (tool, payload, options = {}) =>
      (await authorize(callOf(tool, options), checkedCopy(payload, 'the payload'))).payload,
  }
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
 * Returns the action that may run now, and withdraws a call that the caller gave up.
 *
 * @throws NotExecuted when no action may run
 */
async function authorize(call: Call, payload: Payload): Promise<AuthorizedCall> {
  try {
    const authorized = await decide(call, payload)
    checkAborted({ signal: call.signal, thread_id: authorized.thread_id })
    return authorized
  } catch (cause) {
    const error = asNotExecuted(cause)
    await withdrawIfAborted(call.client, call.answers, error)
    throw error
  }
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
      throw new Error(`${tool} ran, and failed: ${error.message}`, { cause: error })
    throw error
  }
}
