import { attempt, orAborted } from './attempt.ts'
import type { Client } from './client.ts'
import type { Decision, DecisionRequest } from './types.ts'

export interface Submission {
  readonly taskId: string
  readonly request: DecisionRequest
  readonly idempotencyKey: string
  readonly signal: AbortSignal | undefined
  /** Told of every try, which goes on when the caller gives up. */
  readonly sent?: ((answer: Promise<Decision>) => void) | undefined
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
  // not with the signal: what the gateway makes of a call that was given up is to be known, so that it can be withdrawn
  const once = async (): Promise<Decision> => {
    const answer = client.submit(taskId, request, { idempotencyKey, onReplayed })
    submission.sent?.(answer)
    return orAborted(answer, { signal })
  }
  return { decision: await attempt(once, { signal }), replayed }
}
