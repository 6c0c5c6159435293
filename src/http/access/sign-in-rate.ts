import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { HttpDeps } from '../deps.ts'

const MINUTE_MS = 60_000

/** Counted apart: a stranger who knows our addresses can use up `discovery` and `stranger`, and keeps nobody out by it. */
type SignInBy = 'link' | 'oidc' | 'discovery' | 'stranger'

/** So that nobody can keep an instance, or its provider, busy with attempts: nobody guesses 256 random bits. @throws GatewayError `rate_limited` */
export function limitSignIns({ rates }: HttpDeps, by: SignInBy): void {
  const rate = { calls: LIMITS.SIGN_INS_PER_MINUTE, withinMs: MINUTE_MS }
  const retryAfterMs = rates.take(`sign-in by ${by}`, rate)
  if (retryAfterMs !== undefined)
    throw new GatewayError('rate_limited', 'too many attempts to sign in; try again in a moment', {
      retryAfter: retryAfterMs / 1000,
    })
}
