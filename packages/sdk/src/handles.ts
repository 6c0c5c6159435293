/// <reference lib="esnext.disposable" preserve="true" />
import type { ToolSchema } from './carrier.ts'
import { requireEqual } from './carrier.ts'
import { authorized, type Core, governed, ownOf, run } from './core.ts'
import { Aborted, NotExecuted } from './errors.ts'
import { messageOf } from './refusal.ts'
import { type Call, handleOf, proposed, revision, type Step } from './flow.ts'
import { checkedHandle, checkHash, type Handle, sized } from './handle.ts'
import type { GuardOptions, ProposeOptions, ResumeOptions } from './options.ts'
import { checkEcho, checkThread, refused } from './proof.ts'
import { checkAborted, orAborted, withRetry } from './retry.ts'
import type { Decision, Payload } from './types.ts'
import { toPayload } from './values.ts'
import { withdrawAll } from './withdraw.ts'

/** Calls that wait for days. */
export interface Handles {
  /**
   * Proposes a call, and does not wait for reviewers. `resume` continues it from the handle, in any process. At the end
   * of an `await using` block, a call that has not been redeemed is withdrawn.
   *
   * @throws NotExecuted when policy rejects the call; TypeError for a `callId` that no handle can hold
   */
  propose(tool: string, payload: object, options: ProposeOptions): Promise<Handle & AsyncDisposable>
  /** Reads the decision on a proposed call. The proof stays inside. */
  decision(handle: Handle): Promise<Omit<Decision, 'approval_token' | 'token_expires_at'>>
  /**
   * Runs exactly the approved payload, once, as `guard` does.
   *
   * @throws NotExecuted unless the call may run; TypeError for a value that is no handle
   */
  resume<T, P = Payload>(
    handle: Handle,
    run: (approved: P) => Promise<T> | T,
    options?: ResumeOptions & { readonly schema?: ToolSchema<P> | undefined },
  ): Promise<T>
  /** Replaces the payload in the same thread, as the reviewers ask. Returns the new handle. */
  revise(
    handle: Handle,
    payload: object,
    options?: { readonly schema?: ToolSchema | undefined },
  ): Promise<Handle>
  /** Withdraws a proposed call. `false`: its proof was redeemed before. */
  withdraw(handle: Handle, reason?: string): Promise<boolean>
  /** The console page of a held call. A call that was allowed at once has none. */
  pageOf(handle: { readonly thread_id?: string | undefined }): string | undefined
}

/** Maximum number of proofs that `decision` keeps for `resume`. A dropped proof is replaced. */
const MOST_PROOFS = 1_000

/** @internal */
export function handlesOf(core: Core): Handles {
  const redeemed = new WeakSet<object>()
  return {
    propose: async (tool, payload, options) => {
      const handle = await propose(core, tool, payload, options)
      const dispose = async (): Promise<void> => {
        core.freshAllows.take(handle.action_hash)
        if (!redeemed.has(handle)) await withdrawAll(core.client, [Promise.resolve(handle.thread_id)])
      }
      return Object.defineProperty(handle, Symbol.asyncDispose, { value: dispose }) as Handle &
        AsyncDisposable
    },
    decision: async (value) => {
      const {
        approval_token: _,
        token_expires_at: __,
        ...told
      } = await decisionOn(core, checkedHandle(value))
      return told
    },
    resume: async (value, execute, options = {}) => {
      const { call, first } = resumed(core, checkedHandle(value), options)
      const done = await authorized(core, call, options, first)
      redeemed.add(value)
      return run(core, call, done, execute)
    },
    revise: async (value, payload, options = {}) => revised(core, checkedHandle(value), payload, options),
    withdraw: async (value, reason) => withdrawn(core, checkedHandle(value), reason),
    pageOf: core.pageOf,
  }
}

async function propose(core: Core, tool: string, payload: object, options: ProposeOptions): Promise<Handle> {
  const call = core.callOf(tool, options, false)
  const own = ownOf(call, payload)
  checkSize(call)
  const { payload: kept, ...small } = await governed(core, call, options, async (limited) => {
    const step = await proposed(limited, own)
    const handle = handleOf(limited, step)
    checkEcho(limited, step.decision, step.action)
    if (handle.status === 'allow') core.freshAllows.keep(handle.action_hash)
    if (handle.status === 'pending_review') await tellPending(limited, step.decision)
    checkAborted({ signal: limited.signal, thread_id: handle.thread_id })
    return handle
  })
  return options.keepPayload === false || kept === undefined ? small : { ...small, payload: kept }
}

/** @throws TypeError before the first request, if no handle can hold the ids of the call */
function checkSize({ taskId, tool, callId }: Call): void {
  const [action_hash, thread_id] = ['0'.repeat(64), '0'.repeat(64)]
  const about = { task_id: taskId, tool_name: tool, nonce: callId, action_hash, thread_id, again: 1_000 }
  sized({ v: 1, status: 'pending_review', ...about })
}

/** @throws NotExecuted when `onPending` fails, because its audience does not know that the call waits */
async function tellPending({ onPending, signal }: Call, decision: Decision): Promise<void> {
  const { thread_id } = decision
  const told = (async () => onPending?.({ ...decision }))().catch((cause: unknown) => {
    throw new Aborted(`onPending failed: ${messageOf(cause)}`, { thread_id, cause })
  })
  await orAborted(told, { signal, thread_id })
}

async function decisionOn({ client, proofs }: Core, handle: Handle): Promise<Decision> {
  const { task_id, thread_id, action_hash } = handle
  if (thread_id === undefined) return { status: 'allow', task_id, action_hash }
  const answer = await withRetry(() => client.poll({ thread_id }), { thread_id })
  checkThread(answer, thread_id)
  if (answer.status === 'approved') checkEcho({ taskId: task_id }, answer, { hash: action_hash })
  if (answer.status !== 'approved') proofs.delete(thread_id)
  else if (answer.approval_token !== undefined) proofs.set(thread_id, answer)
  const [oldest = ''] = proofs.keys()
  if (proofs.size > MOST_PROOFS) proofs.delete(oldest)
  return answer
}

const callFrom = (core: Core, handle: Handle, options: GuardOptions<Payload>): Call =>
  core.callOf(handle.tool_name, { ...options, taskId: handle.task_id, callId: handle.nonce })

/** The call of a handle, and its first step here. */
function resumed(core: Core, handle: Handle, options: ResumeOptions) {
  const { thread_id } = handle
  // the process that proposed a held call has called `onPending`
  const told = thread_id === undefined ? {} : { onPending: () => undefined }
  const call = callFrom(core, handle, { ...options, ...told })
  const given = options.payload ?? handle.payload
  if (given === undefined)
    throw new TypeError('this handle holds no payload: pass `payload`, the arguments that were proposed')
  const payload = options.payload === undefined ? toPayload(given) : call.carrier.toPayload(given)
  const first = async (limited: Call): Promise<Step> => {
    const context = { signal: limited.signal, thread_id }
    checkAborted(context)
    await orAborted(core.outcomes.settled(limited.taskId), context)
    await checkHash(handle, payload)
    const value = options.payload ?? (await limited.carrier.fromPayload(payload))
    requireEqual(limited.carrier, value, payload, thread_id)
    return stepOf(core, limited, handle, { value, payload })
  }
  return { call, first }
}

async function stepOf(
  { freshAllows, proofs }: Core,
  call: Call,
  { task_id, nonce, again, thread_id, action_hash }: Handle,
  own: { readonly value: unknown; readonly payload: Payload },
): Promise<Step> {
  const action = { ...own, hash: action_hash, nonce, ...(again === undefined ? {} : { again }) }
  if (thread_id === undefined) {
    // another process may have proposed the call or used its allow, so policy judges it again
    if (!freshAllows.take(action_hash)) return proposed(call, own)
    return { action, decision: { status: 'allow', task_id, action_hash } }
  }
  const known = proofs.get(thread_id)
  proofs.delete(thread_id)
  return (call.at.step = { action, decision: known ?? { status: 'pending_review', task_id, thread_id } })
}

async function revised(core: Core, handle: Handle, payload: object, options: ResumeOptions): Promise<Handle> {
  const { task_id, thread_id } = handle
  if (thread_id === undefined) throw new TypeError('this call was allowed at once: no review to revise')
  const call = callFrom(core, handle, options)
  return governed(core, call, {}, async () => {
    const { action, status = 'pending_review' } = await revision(call, thread_id, payload)
    if (status !== 'pending_review' && status !== 'approved') throw refused({ status, task_id, thread_id })
    return handleOf(call, { action, decision: { status: 'pending_review', task_id, thread_id } })
  })
}

async function withdrawn({ client, freshAllows }: Core, handle: Handle, reason?: string): Promise<boolean> {
  const { thread_id, action_hash } = handle
  if (thread_id === undefined) return freshAllows.take(action_hash)
  try {
    await withRetry(() => client.withdraw(thread_id, { reason }), { thread_id })
    return true
  } catch (error) {
    if (error instanceof NotExecuted && error.problem === 'not_pending') return false
    throw error
  }
}
