import { deadlineOf } from './abort.ts'
import { carrierOf, requireEqual } from './carrier.ts'
import { baseOf, type Client, createClient } from './client.ts'
import { type Code, NotExecuted } from './errors.ts'
import { withDetails } from './refusal.ts'
import {
  asNotExecuted,
  type AuthorizedCall,
  type Call,
  handleOf,
  type Own,
  permitted,
  type Step,
} from './flow.ts'
import type { Handle } from './handle.ts'
import { heldNotice } from './held-notice.ts'
import { createFreshAllows, createUsedAllows, type FreshAllows } from './idempotency.ts'
import type { Claims, GateOptions, GuardOptions, Limits } from './options.ts'
import { checkAborted } from './retry.ts'
import { createOutcomes, type Outcomes } from './outcomes.ts'
import type { Decision, Json, OutcomeReport, Payload, ResolvedTool } from './types.ts'
import { toPayload } from './values.ts'
import { giveUp } from './withdraw.ts'

/** The settings and the state that the calls of one gate share. */
export interface Core {
  readonly client: Client
  readonly freshAllows: FreshAllows
  readonly outcomes: Outcomes
  /** Proofs that `decision` read, by thread, for `resume`. */
  readonly proofs: Map<string, Decision>
  readonly onPending: (decision: Decision, waitMs?: number) => unknown
  readonly maxWaitMs: number
  /** @param isWaiting the call waits for reviewers in this process */
  readonly callOf: (tool: string, options: GuardOptions<Payload>, isWaiting?: boolean) => Call
  readonly pageOf: (handle: { readonly thread_id?: string | undefined }) => string | undefined
}

/** The first step of a call, as its caller knows it. */
type First = (call: Call) => Promise<Step>

const DEFAULT_WAIT_MS = 15 * 60_000
/** Time in which the same call may be made again after the caller's time-out, seconds. */
const GRACE_SECONDS = 120
/** Time that a deadline leaves for the redemption, ms. */
const REDEMPTION_MS = 1_000
/** Refusals of calls that still wait. */
const WAITING: readonly Code[] = ['still_pending', 'changes_requested', 'gateway_unavailable']

/** @throws TypeError for options with which no call could work */
export function createCore(options: GateOptions): Core {
  const client = createClient(options)
  const gate = { ...options }
  const page = gate.consoleUrl === undefined ? baseOf(options) : baseOf({ url: gate.consoleUrl })
  const onPending = gate.onPending ?? heldNotice(page)
  const contracts = new Map<string, ResolvedTool>()
  const clock = (): number => performance.now()
  const usedAllows = createUsedAllows(clock)
  const maxWaitMs = gate.maxWaitMs ?? DEFAULT_WAIT_MS
  // created with the first call, because Workers have no randomness while a module loads
  let ownTask = gate.taskId
  const callOf: Core['callOf'] = (tool, options, isWaiting = true) => {
    const waitMs = options.maxWaitMs ?? maxWaitMs
    return {
      client,
      contracts,
      tool,
      carrier: carrierOf(options.schema, tool),
      onPending: options.onPending ?? ((decision) => onPending(decision, isWaiting ? waitMs : undefined)),
      revise: options.revise,
      beforeProof: options.beforeProof,
      taskId: options.taskId ?? (ownTask ??= `task-${crypto.randomUUID()}`),
      callId: options.callId ?? crypto.randomUUID(),
      answers: [],
      // only ids of the caller can be repeated
      comesAgain: options.callId !== undefined,
      usedAllows: options.callId === undefined ? createUsedAllows(clock) : usedAllows,
      maxWaitMs: waitMs,
      signal: options.signal,
      claims: toPayload(claimsOf(options), 'what the call says of itself'),
      unsignedApprovals: gate.unsignedApprovals === true,
      latest: Infinity,
      at: {},
    }
  }
  const pageOf: Core['pageOf'] = ({ thread_id }) =>
    thread_id === undefined ? undefined : `${page}/console/#/thread/${thread_id}`
  const freshAllows = createFreshAllows(clock)
  const outcomes = createOutcomes(client)
  return { client, freshAllows, outcomes, proofs: new Map(), onPending, maxWaitMs, callOf, pageOf }
}

/** The claims without undefined members. */
function claimsOf(guard: Claims): { readonly [key: string]: Json } {
  const { workflow_name, task_label, subject, preview, risk_level, summary, images } = guard
  const claims = { workflow_name, task_label, subject, preview, risk_level, summary, images }
  return Object.fromEntries(
    Object.entries(claims).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

/** The arguments before the first wait, so that later changes are found. */
export const ownOf = ({ carrier }: Call, value: object): Pick<Own, 'value' | 'payload'> => ({
  value,
  payload: carrier.toPayload(value),
})

/** Limits the time of a call, completes its refusal, and ends a call that its caller gave up. */
export async function governed<T>(
  core: Core,
  call: Call,
  limits: Limits,
  work: (call: Call) => Promise<T>,
): Promise<T> {
  const { deadlineMs } = limits
  if (deadlineMs === undefined) return work(call).catch((error: unknown) => ended(core, call, limits, error))
  const deadline = deadlineOf(deadlineMs, call.signal)
  const latest = performance.now() + deadlineMs - Math.min(REDEMPTION_MS, deadlineMs / 10)
  return work({ ...call, signal: deadline.signal, latest })
    .catch((error: unknown) => ended(core, call, limits, error))
    .finally(deadline.end)
}

/** @throws NotExecuted always */
async function ended(
  core: Core,
  call: Call,
  { graceSeconds = GRACE_SECONDS }: Limits,
  cause: unknown,
): Promise<never> {
  const error = asNotExecuted(cause)
  const thread_id = error.thread_id ?? call.at.step?.decision.thread_id
  reportUnused(core, call, error)
  const handle = WAITING.includes(error.code) ? openHandle(call, thread_id) : undefined
  withDetails(error, { thread_id, console_url: core.pageOf({ thread_id }), handle })
  const isLeft = error.code === 'still_pending' && call.signal?.aborted && graceSeconds < Infinity
  if (isLeft || call.at.isOver || error.code === 'aborted')
    await giveUp(core.client, call.answers, thread_id, isLeft ? { graceSeconds } : undefined)
  throw error
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

/** Takes a call from its first step to the point where it may run once, now. */
export function authorized(core: Core, call: Call, limits: Limits, first: First): Promise<AuthorizedCall> {
  return governed(core, call, limits, async (limited) => {
    const done = await permitted(limited, await first(limited))
    const { action, thread_id } = done
    try {
      checkAborted({ signal: limited.signal, thread_id })
    } catch (error) {
      report(core, call, { hash: action.hash, thread_id }, NOT_RUN)
      throw error
    }
    return done
  })
}

/** Runs the tool and reports the result. */
export async function run<T>(
  core: Core,
  call: Call,
  { action, thread_id }: AuthorizedCall,
  execute: (value: never) => Promise<T> | T,
): Promise<T> {
  const { tool } = call
  const about = { hash: action.hash, thread_id }
  const began = performance.now()
  const over = (outcome: 'executed' | 'failed'): void =>
    report(core, call, about, { outcome, duration_ms: Math.round(performance.now() - began) })
  // checks again as the last step, because no wait may happen between this check and the call
  try {
    checkAborted({ signal: call.signal, thread_id })
    requireEqual(call.carrier, action.value, action.payload, thread_id)
  } catch (error) {
    report(core, call, about, NOT_RUN)
    throw withDetails(error as NotExecuted, { console_url: core.pageOf({ thread_id }) })
  }
  try {
    const value = await execute(action.value as never)
    over('executed')
    return value
  } catch (error) {
    over('failed')
    // a nested guarded call was refused, but the outer call ran
    if (error instanceof NotExecuted)
      throw new Error(`${tool} ran, and failed: ${error.reason}`, { cause: error })
    throw error
  }
}

/** Reports in the background. The report is evidence, not permission, so a failed report changes no result. */
function report(
  { outcomes }: Core,
  { taskId, comesAgain }: Call,
  { hash, thread_id }: { readonly hash: string; readonly thread_id: string | undefined },
  said: Pick<OutcomeReport, 'outcome' | 'duration_ms'>,
): void {
  outcomes.report(taskId, {
    action_hash: hash,
    ...(thread_id === undefined ? {} : { thread_id }),
    // a call that policy allowed several times has the same hash
    ...(comesAgain && thread_id === undefined ? { run: crypto.randomUUID() } : {}),
    ...said,
  })
}

/** Reports a call that did not run, although its proof may have been redeemed. */
function reportUnused(core: Core, call: Call, { code, thread_id }: NotExecuted): void {
  const { step } = call.at
  if (code !== 'outcome_unknown' || step === undefined) return
  report(core, call, { hash: step.action.hash, thread_id: thread_id ?? step.decision.thread_id }, NOT_RUN)
}

const NOT_RUN = { outcome: 'not_run' } as const
