import { attempt } from './attempt.ts'
import type { Client } from './client.ts'
import { CountersignError } from './error.ts'
import type { Decision, DecisionRequest } from './types.ts'

export interface Submission {
  readonly taskId: string
  readonly request: DecisionRequest
  readonly idempotencyKey: string
  readonly signal: AbortSignal | undefined
}

export interface Submitted {
  readonly decision: Decision
  /** Nobody else can have had this answer: it is no repetition, or one that a try of ours may have caused of which nobody knows what became. */
  readonly ours: boolean
}

/** Proposes a call, as often as it takes. @throws NotExecuted */
export async function submit(client: Client, submission: Submission): Promise<Submitted> {
  const { taskId, request, idempotencyKey, signal } = submission
  let [replayed, lost] = [false, false]
  const onReplayed = (): void => void (replayed = true)
  const once = async (): Promise<Decision> => {
    try {
      return await client.submit(taskId, request, { idempotencyKey, onReplayed, signal })
    } catch (error) {
      lost ||= mayHaveActed(error)
      throw error
    }
  }
  const decision = await attempt(once, { signal })
  return { decision, ours: lost || !replayed }
}

const OUTCOME_UNKNOWN = ['unreachable', 'unreadable', 'outcome_unknown']

/** What refuses with another code has done nothing (docs/errors.md). */
function mayHaveActed(error: unknown): boolean {
  return error instanceof CountersignError && OUTCOME_UNKNOWN.includes(error.code)
}
