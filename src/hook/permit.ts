import { type Gate, NotExecuted } from '@countersign/sdk'
import { type CallIds, isUndecided, leaveWaiting, withdrawLeft } from '@countersign/sdk/runtime'
import type { HeldCall } from './call.ts'
import { contractOf } from './contract.ts'
import type { HarnessName } from './harness.ts'

export interface PermitParts {
  readonly gate: Gate
  readonly callIds: CallIds
  readonly harness: HarnessName
  /** The prefix that the gateway's name for a tool adds to the harness's name. */
  readonly prefix: string
  /** Maximum time to hold a call for reviewers, ms. */
  readonly maxWaitMs: number
  readonly signal: AbortSignal
}

/** Time in which the harness may call the tool again after it ended the hook, seconds. */
const GRACE_SECONDS = 120

/** The harness ended the hook, which may be its own time limit. A person's stop is another error. */
export class HookEnded extends Error {
  override readonly name = 'TimeoutError'
}

/**
 * Resolves when the call may run now, once. An equal call continues the review of a call that timed out undecided.
 *
 * @throws NotExecuted in all other cases
 */
export async function permit(parts: PermitParts, { task, tool, input }: HeldCall): Promise<void> {
  const { gate, callIds, harness, prefix, maxWaitMs, signal } = parts
  const callId = await callIds.take({ task, name: prefix + tool, input })
  const options = { callId: callId.id, taskId: task, maxWaitMs, signal, workflow_name: harness }
  try {
    const name = await contractOf(gate.client, { harness, tool, prefix, signal })
    await gate.authorize(name, input, { ...options, onPending: ({ thread_id }) => callId.hold(thread_id) })
    callId.end()
  } catch (error) {
    if (error instanceof NotExecuted && isUndecided(error)) {
      callId.leave()
      if (signal.reason instanceof HookEnded) await leaveWaiting(gate.client, callId.thread, GRACE_SECONDS)
    } else {
      callId.end()
      await withdrawLeft(gate.client, callId, error)
    }
    throw error
  }
}
