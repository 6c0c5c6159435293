import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../../contract/errors.ts'
import { SESSION } from '../../contract/operations/session.ts'
import { me } from '../../gateway/review/me.ts'
import { replacedBy, signInByLink } from '../../gateway/auth/sign-in.ts'
import { signOut, signOutEverywhere } from '../../gateway/auth/sign-out.ts'
import { isAttended, reviewerOf } from '../access/auth.ts'
import { clearCookie, cookieOf, SESSION_COOKIE, setCookie } from '../access/session-cookie.ts'
import { limitSignIns } from '../access/sign-in-rate.ts'
import type { HttpDeps } from '../core/deps.ts'
import type { Handlers } from '../core/handler.ts'
import { singleSignOnHandlers } from './single-sign-on.ts'

/** Handlers for signing in to and out of the console (docs/signing-in.md). */
export const sessionHandlers = (http: HttpDeps): Handlers<typeof SESSION> => ({
  sign_in_options: async ({ request }) => ({
    signed_in: await isSignedIn(request, http),
    ...(http.singleSignOn && {
      single_sign_on: { label: http.singleSignOn.provider.label, url: SESSION.start_single_sign_on.path },
    }),
  }),

  sign_in: async ({ gateway, body, request, reply }) => {
    const replaced = replacedBy(cookieOf(request, SESSION_COOKIE))
    const { credential, page, caller } = await signInByLink(gateway, body, replaced).catch(
      (error: unknown) => {
        // a valid link always works, so failed attempts do not lock out another reviewer
        if (isRefused(error)) {
          gateway.observe({ kind: 'sign_in_failed', via: 'link', problem: 'refused' })
          limitSignIns(http, 'link')
        }
        throw error
      },
    )
    // the cookie ends when the browser closes, and the session ends at its time limits
    setCookie(reply, SESSION_COOKIE, credential, { sameSite: 'Strict' })
    return { me: me(gateway, caller), page_secret: page }
  },

  sign_out: async ({ gateway, caller, query, reply }) => {
    await (query.everywhere === 'true' ? signOutEverywhere : signOut)(gateway, caller)
    clearCookie(reply, SESSION_COOKIE, 'Strict')
  },

  ...singleSignOnHandlers(http),
})

async function isSignedIn(request: FastifyRequest, http: HttpDeps): Promise<boolean> {
  try {
    await reviewerOf(request, http, isAttended(request))
    return true
  } catch (error) {
    if (isRefused(error)) return false
    throw error
  }
}

const isRefused = (error: unknown): boolean =>
  error instanceof GatewayError && ['unauthenticated', 'foreign_origin'].includes(error.code)
