/** Why a call did not run. */
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
