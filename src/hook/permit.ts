import { canonicalJson, type Gate, NotExecuted, sha256 } from '../sdk/index.ts'
import { isUndecided } from '../sdk/told.ts'
import type { HeldCall } from './call.ts'
import { contractOf } from './contract.ts'
import type { HarnessName } from './harness.ts'
import type { Unfinished } from './unfinished.ts'

export interface PermitParts {
  readonly gate: Gate
  readonly unfinished: Unfinished
  readonly harness: HarnessName
  /** The gateway's name of a tool is the harness's with this in front. */
  readonly prefix: string
  /** Longest time to hold a call for people, ms. */
  readonly maxWaitMs: number
  readonly signal: AbortSignal
}

/**
 * Resolves when the call may run now, once. A call that nobody decided in time goes on where it was when the same comes again.
 *
 * @throws NotExecuted in every other case
 */
export async function permit(parts: PermitParts, { task, tool, input }: HeldCall): Promise<void> {
  const { gate, unfinished, harness, prefix, maxWaitMs, signal } = parts
  const key = await sha256(canonicalJson({ task, name: prefix + tool, input }))
  const callId = unfinished.take(key) ?? crypto.randomUUID()
  try {
    const name = await contractOf(gate.client, { harness, tool, prefix, signal })
    await gate.permit(name, input, { callId, taskId: task, maxWaitMs, signal, workflow_name: harness })
  } catch (error) {
    if (error instanceof NotExecuted && isUndecided(error)) unfinished.leave(key, callId)
    throw error
  }
}
