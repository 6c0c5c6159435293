/**
 * The gateway refused (`status` is set) or did not answer (`status` is undefined). This error never permits execution.
 */
export class CountersignError extends Error {
  override readonly name = 'CountersignError'
  /** HTTP status of the answer; undefined when there was no answer. */
  readonly status: number | undefined
  /**
   * Stable code of the problem (docs/errors.md). `unreachable`: no complete answer arrived in time. `unreadable`: the
   * answer came from another program, such as a proxy, instead of the agent API.
   */
  readonly code: string
  /** The members that the gateway refuses, by RFC 6901. */
  readonly errors: readonly Complaint[]
  /** Seconds after which a retry makes sense. */
  readonly retryAfter: number | undefined

  constructor(message: string, facts: ErrorFacts) {
    super(message, { cause: facts.cause })
    this.status = facts.status
    this.code = facts.code
    this.errors = facts.errors ?? []
    this.retryAfter = facts.retryAfter
  }
}

/** A member of a request and its error. */
export interface Complaint {
  readonly pointer: string
  readonly message: string
}

export interface ErrorFacts {
  readonly code: string
  readonly status?: number
  readonly errors?: readonly Complaint[]
  readonly retryAfter?: number
  readonly cause?: unknown
}

/** The reason why a call did not run. */
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

/** The error for a call that did not run. `outcome` is the reason, and `message` is suitable for the model. */
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

/**
 * The text for the model about a call that did not run. `countersign mcp`, `countersign hook` and the adapters share
 * it.
 */
export function refusalText({ outcome, message, thread_id }: NotExecuted): string {
  if (outcome === 'timeout' && thread_id === undefined)
    return `Not executed: ${message}. Call the tool again with exactly the same arguments to continue.`
  if (outcome === 'timeout')
    return `Not executed: people have not decided yet (thread ${thread_id}). Call the tool again with exactly the same arguments to continue waiting.`
  if (outcome === 'changes_requested') return `Not executed: the reviewers ask for changes: ${message}`
  return `Not executed: ${message}`
}

/** The same information for programs. */
export function refusalFacts({ outcome, thread_id }: NotExecuted): { readonly [name: string]: string } {
  return {
    'countersign/outcome': outcome,
    ...(thread_id === undefined ? {} : { 'countersign/thread_id': thread_id }),
  }
}

const UNDECIDED: readonly Outcome[] = ['timeout', 'gateway_error']

/**
 * True when the decision on the call is unknown. The same call may be repeated and then resumes. An `aborted` call is
 * withdrawn and does not resume.
 */
export function isUndecided({ outcome }: NotExecuted): boolean {
  return UNDECIDED.includes(outcome)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
