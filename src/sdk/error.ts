/** The gateway refused (`status` set) or could not be reached (`status` undefined). Never a permission to execute. */
export class CountersignError extends Error {
  override readonly name = 'CountersignError'
  /** HTTP status of the answer; undefined when there was none. */
  readonly status: number | undefined
  /**
   * Stable code of the problem (docs/errors.md); `unreachable` when there was no whole answer in time, `unreadable` when the answer is not
   * one of the agent API, as from a proxy.
   */
  readonly code: string
  /** The places that the gateway complains of, by RFC 6901. */
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

/** One place of a request, and what is wrong there. */
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
