/**
 * The table of all errors: stable code, HTTP status, title (RFC 9457). A test compares it with docs/errors.md in both
 * directions.
 */
export const ERRORS = {
  invalid_json: { status: 400, title: 'The body is not acceptable JSON' },
  invalid_request: { status: 400, title: 'The request does not fit the contract' },
  invalid_policy_input: { status: 400, title: 'The payload does not fit the contract of the tool' },
  invalid_revision: { status: 400, title: 'The revision does not fit the contract' },
  comment_required: { status: 400, title: 'A rejection needs a comment' },
  missing_identifier: { status: 400, title: 'No decision identifier given' },
  unauthenticated: { status: 401, title: 'Missing or invalid credentials' },
  not_permitted: { status: 403, title: 'This credential may not do that' },
  not_eligible: { status: 403, title: 'You are not among the reviewers of this thread' },
  sign_in_required: { status: 403, title: 'This action needs an interactive sign-in' },
  foreign_origin: { status: 403, title: 'The request did not come from a page of this gateway' },
  self_review: { status: 403, title: 'The owner of an agent cannot vote on its threads' },
  already_voted: { status: 403, title: 'You have voted on this revision already' },
  not_found: { status: 404, title: 'Not found' },
  request_timeout: { status: 408, title: 'The request did not arrive in time' },
  not_pending: { status: 409, title: 'The state of the thread does not allow this' },
  proof_used: { status: 409, title: 'The proof was redeemed: the call may have run' },
  too_many_proofs: { status: 409, title: 'The proof of the thread was replaced too often' },
  outcome_recorded: { status: 409, title: 'Another outcome of this run was recorded' },
  already_claimed: { status: 409, title: 'Another reviewer has claimed the thread' },
  already_linked: { status: 409, title: 'One of the two accounts is linked already' },
  too_many_webhooks: { status: 409, title: 'The tenant has too many webhooks' },
  too_many_freezes: { status: 409, title: 'The tenant has too many frozen names' },
  too_many_legal_holds: { status: 409, title: 'The tenant has too many legal holds' },
  under_legal_hold: { status: 409, title: 'A legal hold keeps this data' },
  not_lost: { status: 409, title: 'The records are not lost' },
  too_many_comments: { status: 409, title: 'The thread has too many comments' },
  vote_alone: { status: 409, title: 'A call of critical risk needs a vote of its own' },
  displayed_required: { status: 409, title: 'The call was not displayed whole' },
  duplicate_revision: { status: 409, title: 'This revision was submitted before' },
  too_many_revisions: { status: 409, title: 'The thread has been revised too often' },
  unknown_thread: { status: 409, title: 'No such thread in this task' },
  stale_revision: { status: 412, title: 'The thread is at another revision' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'Only application/json in UTF-8, unencoded' },
  expectation_failed: { status: 417, title: 'Only `Expect: 100-continue` is known' },
  idempotency_mismatch: { status: 422, title: 'This Idempotency-Key was used with another body' },
  revision_required: { status: 428, title: 'Name the revision that you looked at' },
  rate_limited: { status: 429, title: 'Too many requests' },
  over_budget: { status: 429, title: 'A budget is exhausted' },
  header_too_large: { status: 431, title: 'The request header is too large' },
  internal: { status: 500, title: 'Internal error' },
  store_unavailable: { status: 503, title: 'The store cannot answer' },
  tiles_unavailable: { status: 503, title: 'Records that left the store cannot be read' },
  outcome_unknown: { status: 503, title: 'The store did not confirm in time: the outcome is unknown' },
  not_ready: { status: 503, title: 'No policy is in force' },
  overloaded: { status: 503, title: 'The gateway is overloaded' },
  shutting_down: { status: 503, title: 'The gateway is shutting down' },
} as const satisfies Record<string, { status: number; title: string }>

export type ErrorCode = keyof typeof ERRORS

/** A place in a body (an RFC 6901 JSON Pointer) and the error at that place. */
export interface FieldError {
  readonly pointer: string
  readonly message: string
}

export interface ProblemExtra {
  readonly errors?: readonly FieldError[]
  /** Seconds after which a retry makes sense (`Retry-After`). */
  readonly retryAfter?: number
  /** The exhausted budget (docs/limits.md). */
  readonly budget?: string
  /** The private cause, for the log and never for the response. */
  readonly cause?: unknown
}

/** A refusal with a public sentence. `cause` stays private. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly code: ErrorCode
  readonly errors: readonly FieldError[]
  readonly retryAfter: number | undefined
  readonly budget: string | undefined

  constructor(code: ErrorCode, detail: string, extra: ProblemExtra = {}) {
    super(detail, { cause: extra.cause })
    this.code = code
    this.errors = extra.errors ?? []
    this.retryAfter = extra.retryAfter
    this.budget = extra.budget
  }
}

/** `application/problem+json`, RFC 9457. `type` names a page of docs/errors.md. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: ErrorCode
  readonly detail: string
  readonly errors?: readonly FieldError[]
  readonly budget?: string
}

export function problemOf(error: GatewayError): Problem {
  const { status, title } = ERRORS[error.code]
  return {
    type: `urn:countersign:error:${error.code}`,
    title,
    status,
    code: error.code,
    detail: error.message,
    ...(error.errors.length > 0 ? { errors: error.errors } : {}),
    ...(error.budget === undefined ? {} : { budget: error.budget }),
  }
}
