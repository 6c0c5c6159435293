import type { Handle } from './handle.ts'

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

interface Row {
  /** Advice for the model. */
  readonly advice?: string
  /** Whether the same call may run later. */
  readonly retryable?: boolean
  readonly opening?: string
}

const ASK = 'Ask the operator of the agent.'
/** Another process may have the proof in use. */
const MAYBE_RAN = {
  opening: 'It may have run',
  advice: 'Find out whether it ran before you call the tool again: a new review begins.',
}

/** Why a call did not run. The package for Python has the same table. */
const REFUSALS = {
  not_executed: {},
  rejected: { advice: 'Do not call the tool again with these arguments.' },
  expired: {
    retryable: true,
    advice: 'Call the tool again only if it is still needed: a new review begins.',
  },
  withdrawn: { advice: 'Call the tool again only if it is still needed.' },
  changes_requested: { advice: 'Change the arguments as the reviewers ask, and call the tool again.' },
  still_pending: { retryable: true, advice: 'Tell the user that the call waits for review.' },
  aborted: {},
  invalid_payload: { advice: 'Correct the arguments and call the tool again.' },
  arguments_changed: { advice: 'Call the tool again: the new arguments need a review of their own.' },
  unknown_tool: { advice: 'Use another tool.' },
  no_proof: MAYBE_RAN,
  proof_refused: MAYBE_RAN,
  outcome_unknown: {
    retryable: true,
    advice: 'The tool did not run. Call it again if it is still needed: a new review begins.',
  },
  gateway_unavailable: { retryable: true, advice: 'Try again later.' },
  gateway_untrusted: { advice: ASK },
  gateway_refused: { advice: ASK },
  unexpected_answer: { advice: ASK },
} as const satisfies Record<string, Row>

/** The reason why a call did not run. */
export type Code = keyof typeof REFUSALS

export interface RefusalDetails {
  readonly thread_id?: string | undefined
  /** The console page of the thread. */
  readonly console_url?: string | undefined
  /** Continues the call, which still waits. */
  readonly handle?: Handle | undefined
  /** JSON Pointers (RFC 6901) of invalid values. */
  readonly places?: readonly string[] | undefined
  /** The gateway's code (docs/errors.md). */
  readonly problem?: string | undefined
  readonly cause?: unknown
}

/** The error for a call that did not run. `message` is a sentence that a model can act on. */
export class NotExecuted extends Error implements RefusalDetails {
  readonly code: Code
  /** Whether the same call may run later. */
  readonly retryable: boolean
  /** The text of policy, a reviewer or the gateway, without advice. */
  readonly reason: string
  readonly thread_id: string | undefined
  readonly console_url: string | undefined
  readonly handle: Handle | undefined
  readonly places: readonly string[]
  readonly problem: string | undefined

  constructor(reason: string, details: RefusalDetails = {}, code: Code = 'not_executed') {
    const { opening = 'Not executed', advice = '', retryable = false }: Row = REFUSALS[code]
    const ended = /[.!?]$/.test(reason) ? reason : `${reason}.`
    super(`${opening}: ${ended} ${advice}`.trimEnd(), { cause: details.cause })
    this.name = code.replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())
    this.code = code
    this.retryable = retryable
    this.reason = reason
    this.thread_id = details.thread_id
    this.console_url = details.console_url
    this.handle = details.handle
    this.places = details.places ?? []
    this.problem = details.problem
  }
}

type Refusal<C extends Code> = new (
  reason: string,
  details?: RefusalDetails,
) => NotExecuted & { readonly code: C }

function refusal<C extends Code>(code: C): Refusal<C> {
  const made = class extends NotExecuted {
    constructor(reason: string, details?: RefusalDetails) {
      super(reason, details, code)
    }
  }
  return made as unknown as Refusal<C>
}

/** Policy or a reviewer rejected the call. */
export class Rejected extends refusal('rejected') {}
/** The thread expired before a reviewer decided, or before the agent collected the approval. */
export class Expired extends refusal('expired') {}
/** The agent withdrew the call. */
export class Withdrawn extends refusal('withdrawn') {}
/** The reviewers ask for other arguments; `handle` is for `revise`. */
export class ChangesRequested extends refusal('changes_requested') {}
/** No reviewer decided in time. The review continues; `handle` is for `resume`. */
export class StillPending extends refusal('still_pending') {}
/** The caller's signal, or a failed hook, ended the call. It is withdrawn. */
export class Aborted extends refusal('aborted') {}
/** The arguments are not JSON, or do not fit the contract of the tool. */
export class InvalidPayload extends refusal('invalid_payload') {}
/** The tool was about to get arguments that were not approved. The proof stays unused. */
export class ArgumentsChanged extends refusal('arguments_changed') {}
/** The gateway does not let this agent use the tool. */
export class UnknownTool extends refusal('unknown_tool') {}
/** Approved, but the proof was redeemed before or cannot be replaced. Another run may have started the tool. */
export class NoProof extends refusal('no_proof') {}
/** The gateway refused the proof: another process replaced it, or policy asks for more. */
export class ProofRefused extends refusal('proof_refused') {}
/** The answer to the redemption was lost. The proof may be spent; the tool did not run. */
export class OutcomeUnknown extends refusal('outcome_unknown') {}
/** The gateway did not answer, or cannot decide now. */
export class GatewayUnavailable extends refusal('gateway_unavailable') {}
/** TLS with the gateway failed. No request was sent. */
export class GatewayUntrusted extends refusal('gateway_untrusted') {}
/** The gateway refused the request; `problem` is its code. */
export class GatewayRefused extends refusal('gateway_refused') {}
/** The answer is not from the agent API, or is about another call. */
export class UnexpectedAnswer extends refusal('unexpected_answer') {}
