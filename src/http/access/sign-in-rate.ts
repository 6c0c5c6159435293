import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { HttpDeps } from '../deps.ts'

const MINUTE_MS = 60_000

/**
 * Kinds of attempts, each with a separate count. A stranger who exhausts `discovery` and `stranger` does not lock
 * people out.
 */
type SignInBy = 'link' | 'oidc' | 'discovery' | 'stranger'

/** Limits attempts, to protect this instance and its provider. @throws GatewayError `rate_limited` */
export function limitSignIns({ rates }: HttpDeps, by: SignInBy): void {
  const rate = { calls: LIMITS.SIGN_INS_PER_MINUTE, withinMs: MINUTE_MS }
  const retryAfterMs = rates.take(`sign-in by ${by}`, rate)
  if (retryAfterMs !== undefined)
    throw new GatewayError('rate_limited', 'too many attempts to sign in; try again in a moment', {
      retryAfter: retryAfterMs / 1000,
    })
}
