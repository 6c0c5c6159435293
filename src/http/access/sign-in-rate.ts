import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import { createShares, type Shares } from '../admission/shares.ts'
import type { HttpDeps } from '../core/deps.ts'
import { addressOf } from '../wire/connections.ts'

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
  if (retryAfterMs !== undefined) throw tooMany(retryAfterMs)
}

/**
 * Limits attempts that reach the provider by address also. One address makes at most three quarters of the attempts
 * that are left in a minute, so that some are always left for others.
 *
 * @throws GatewayError `rate_limited`
 */
export function limitSignInsByAddress(http: HttpDeps): (by: SignInBy, request: FastifyRequest) => void {
  const minutes = new Map<SignInBy, { readonly began: number; readonly shares: Shares }>()
  return (by, request) => {
    const now = performance.now()
    let minute = minutes.get(by)
    if (minute === undefined || now - minute.began >= MINUTE_MS)
      minutes.set(by, (minute = { began: now, shares: createShares(LIMITS.SIGN_INS_PER_MINUTE) }))
    if (!minute.shares.take(addressOf(request.raw, http.connections.trusted), 1))
      throw tooMany(minute.began + MINUTE_MS - now)
    limitSignIns(http, by)
  }
}

function tooMany(retryAfterMs: number): GatewayError {
  return new GatewayError('rate_limited', 'too many attempts to sign in; try again in a moment', {
    retryAfter: retryAfterMs / 1000,
  })
}
