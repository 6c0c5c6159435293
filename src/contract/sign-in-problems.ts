/**
 * Reasons that single sign-on ended on the sign-in page, as `#/sign-in?problem=<code>`. Details appear only in the log.
 */
export const SIGN_IN_PROBLEMS = {
  cancelled: 'The identity provider reports that you did not sign in.',
  expired: 'The sign-in took too long, or began in another window. Please sign in again.',
  invalid: "The answer of the identity provider did not pass the gateway's checks. Please sign in again.",
  provider: 'The identity provider cannot be reached, or does not work as configured.',
  unverified: 'Your identity provider has not verified your e-mail address.',
  unknown: 'You are not among the reviewers of this gateway. Ask an administrator.',
  groups_unread:
    'Your identity provider did not send your groups in a form that this gateway reads. Ask an administrator.',
  groups_unknown: 'None of the groups that your identity provider names is known here. Ask an administrator.',
  ambiguous: 'More than one reviewer of this gateway has your e-mail address. Ask an administrator.',
  unavailable: 'This gateway cannot sign you in right now. Please try again in a moment.',
} as const

export type SignInProblem = keyof typeof SIGN_IN_PROBLEMS

/** Single sign-on that did not end in a session. `message` and `cause` are for the log. */
export class SignInError extends Error {
  override readonly name = 'SignInError'
  readonly problem: SignInProblem

  constructor(problem: SignInProblem, message: string, cause?: unknown) {
    super(message, { cause })
    this.problem = problem
  }
}
