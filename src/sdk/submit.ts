import { attempt } from './attempt.ts'
import type { Client } from './client.ts'
import type { Decision, DecisionRequest } from './types.ts'

export interface Submission {
  readonly taskId: string
  readonly request: DecisionRequest
  readonly idempotencyKey: string
  readonly signal: AbortSignal | undefined
}

export interface Submitted {
  readonly decision: Decision
  /** The gateway gave this answer before: to a try of ours that never got it, or to somebody else who knows the key. */
  readonly replayed: boolean
}

/** Proposes a call, as often as it takes. @throws NotExecuted */
export async function submit(client: Client, submission: Submission): Promise<Submitted> {
  const { taskId, request, idempotencyKey, signal } = submission
  let replayed = false
  const onReplayed = (): void => void (replayed = true)
  const once = (): Promise<Decision> => client.submit(taskId, request, { idempotencyKey, onReplayed, signal })
  return { decision: await attempt(once, { signal }), replayed }
}
