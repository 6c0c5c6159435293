import type { FastifyInstance, FastifyRequest, RouteShorthandOptions } from 'fastify'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { SignIn, SignInOptions, SignOutQuery, SignedIn } from '../../contract/session.ts'
import { me } from '../../gateway/review/me.ts'
import { replacedBy, signInByLink } from '../../gateway/auth/sign-in.ts'
import { signOut, signOutEverywhere } from '../../gateway/auth/sign-out.ts'
import { callerOf, reviewerOf } from '../access/auth.ts'
import { acceptStrictJson } from '../wire/strict-json.ts'
import { clearCookie, cookieOf, SESSION_COOKIE, setCookie } from '../access/session-cookie.ts'
import type { HttpDeps } from '../deps.ts'
import { gatewayFor } from '../tracing.ts'
import { refuseForeign } from '../access/same-origin.ts'

const MINUTE_MS = 60_000

/** Where the button of single sign-on leads. */
const START_PATH = '/api/review/oidc/start'

/** Signing in to the console and out of it (docs/signing-in.md). */
export function sessionRoutes(app: FastifyInstance, http: HttpDeps): void {
  app.decorateRequest('caller')
  acceptStrictJson(app)

  app.get('/session', async (request): Promise<SignInOptions> => ({
    signed_in: await isSignedIn(request, http),
    ...(http.singleSignOn && {
      single_sign_on: { label: http.singleSignOn.provider.label, url: START_PATH },
    }),
  }))

  app.post('/session', byStranger(http), async (request, reply): Promise<SignedIn> => {
    const proof = http.schemas.check<SignIn>('SignIn', request.body)
    const replaced = replacedBy(cookieOf(request, SESSION_COOKIE))
    const { credential, page, caller } = await signInByLink(gatewayFor(request, http), proof, replaced).catch(
      (error: unknown) => {
        // A link that is one always works: nobody can keep others out by trying.
        if (isRefused(error)) {
          http.gateway.observe({ kind: 'sign_in_failed', via: 'link', problem: 'refused' })
          limitSignIns(http, 'link')
        }
        throw error
      },
    )
    // it ends with the browser, and on our side by its limits
    setCookie(reply, SESSION_COOKIE, credential, { sameSite: 'Strict' })
    return { me: me(gatewayFor(request, http), caller), page_secret: page }
  })

  const known = async (request: FastifyRequest): Promise<void> => {
    request.caller = await reviewerOf(request, http)
  }
  app.delete('/session', { onRequest: known }, async (request, reply) => {
    const { everywhere } = http.schemas.check<SignOutQuery>('SignOutQuery', { ...(request.query as object) })
    const caller = callerOf(request)
    await (everywhere === 'true' ? signOutEverywhere : signOut)(gatewayFor(request, http), caller)
    clearCookie(reply, SESSION_COOKIE, 'Strict')
    return reply.code(204).send()
  })
}

/** Nobody vouches for the sender of this body: it may not be long. */
function byStranger({ site }: HttpDeps): RouteShorthandOptions {
  return {
    bodyLimit: LIMITS.SIGN_IN_BYTES,
    onRequest: (request, _, done) => {
      refuseForeign(request, site())
      done()
    },
  }
}

/** What is counted apart. Who knows our addresses can use up all of `discovery` and `stranger`, and keeps nobody out by it. */
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

async function isSignedIn(request: FastifyRequest, http: HttpDeps): Promise<boolean> {
  try {
    await reviewerOf(request, http)
    return true
  } catch (error) {
    if (isRefused(error)) return false
    throw error
  }
}

const isRefused = (error: unknown): boolean =>
  error instanceof GatewayError && ['unauthenticated', 'foreign_origin'].includes(error.code)
