/** Signing in to and out of the console (docs/signing-in.md). */
import { LIMITS } from '../limits.ts'
import type { Operations } from '../operation.ts'

export const SESSION = {
  sign_in_options: {
    method: 'GET',
    path: '/api/review/session',
    access: 'public',
    summary: 'Read the ways to sign in',
    answers: { 200: 'SignInOptions' },
    refusals: ['store_unavailable'],
  },
  sign_in: {
    method: 'POST',
    path: '/api/review/session',
    access: 'page',
    summary: 'Sign in with a one-time link, or with the link at the end of single sign-on',
    body: 'SignIn',
    bodyBytes: LIMITS.SIGN_IN_BYTES,
    answers: { 200: 'SignedIn' },
    refusals: ['unauthenticated', 'over_budget', 'store_unavailable', 'outcome_unknown', 'not_ready'],
  },
  sign_out: {
    method: 'DELETE',
    path: '/api/review/session',
    access: 'reviewer',
    summary: 'Sign out, here or everywhere',
    query: 'SignOutQuery',
    answers: { 204: null },
    refusals: ['outcome_unknown'],
  },
  start_single_sign_on: {
    method: 'GET',
    path: '/api/review/oidc/start',
    access: 'public',
    summary: 'Go to the identity provider (OpenID Connect, code flow with PKCE)',
    query: 'StartQuery',
    lenient: true,
    noHead: true,
    answerHeaders: [{ name: 'Location', description: 'The identity provider.' }],
    answers: { 302: null },
    refusals: ['not_found', 'store_unavailable'],
  },
  end_single_sign_on: {
    method: 'GET',
    path: '/api/review/oidc/callback',
    access: 'public',
    summary:
      'Receive the answer of the identity provider; redirects to the sign-in page, with a one-time link or a reason',
    noHead: true,
    answerHeaders: [{ name: 'Location', description: 'The console.' }],
    answers: { 303: null },
    refusals: ['not_found', 'store_unavailable', 'outcome_unknown'],
  },
} as const satisfies Operations
