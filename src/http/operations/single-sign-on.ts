import type { FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import { SESSION } from '../../contract/operations/session.ts'
import { SignInError, type SignInProblem } from '../../contract/sign-in-problems.ts'
import { CHALLENGE } from '../../domain/session.ts'
import { beginFlow, resumeFlow, type SealedFlow } from '../../gateway/auth/identity-provider.ts'
import { signInByProvider, type SingleSignOn } from '../../gateway/auth/sign-in-by-provider.ts'
import { createUsedFlows, type UsedFlows } from '../../gateway/auth/used-flows.ts'
import { clearCookie, cookieOf, setCookie } from '../access/session-cookie.ts'
import { createTokenTurns, limitFlows, limitSignIns, type TokenTurns } from '../access/sign-in-rate.ts'
import type { HttpDeps } from '../core/deps.ts'
import type { Handlers } from '../core/handler.ts'
import { lineOf } from '../core/tracing.ts'
import { addressOf } from '../wire/connections.ts'

const CONSOLE_PATH = '/console/'

/** `Lax`, because the provider sends the browser back here from its own pages. */
const FLOW_COOKIE = '__Host-countersign-oidc'

type SingleSignOnHandlers = Pick<Handlers<typeof SESSION>, 'start_single_sign_on' | 'end_single_sign_on'>

/**
 * Handlers of single sign-on. A request that waits for the provider gives up its place, because the provider may hang
 * and any visitor can make such a request.
 */
export function singleSignOnHandlers(http: HttpDeps): SingleSignOnHandlers {
  const limits = { used: createUsedFlows(), limit: limitFlows(http), turns: createTokenTurns(http.rates) }
  return { start_single_sign_on: startOf(http, limits), end_single_sign_on: endOf(http, limits) }
}

interface Limits {
  readonly used: UsedFlows
  readonly limit: ReturnType<typeof limitFlows>
  readonly turns: TokenTurns
}

const startOf =
  (http: HttpDeps, { limit }: Limits): SingleSignOnHandlers['start_single_sign_on'] =>
  async ({ request, reply }) => {
    const { provider } = configured(http)
    // a request without a challenge begins no flow
    if (hasChallenge(request)) limit(request, !provider.isKnown())
    http.admission.leave(reply.raw)
    return redirect(reply, http, request, async () => {
      const { flow, sealed } = beginFlow(http.gateway, challengeIn(request))
      const url = await provider.authorize(flow, redirectUri(http))
      setCookie(reply, FLOW_COOKIE, sealed, { sameSite: 'Lax', maxAgeSeconds: LIMITS.LINK_MS / 1000 })
      return url
    })
  }

const endOf =
  (http: HttpDeps, { used, turns }: Limits): SingleSignOnHandlers['end_single_sign_on'] =>
  async ({ gateway, request, reply }) => {
    const { provider, matching } = configured(http)
    const ours = flowOf(request, http)
    const isFirst = ours !== undefined && !used.has(ours.flow)
    if (!isFirst) limitSignIns(http, 'stranger')
    const turn = isFirst ? turns(addressOf(request.raw, http.connections.trusted), reply.raw) : undefined
    if (isFirst) used.add(ours.flow, gateway.store.now())
    http.admission.leave(reply.raw)
    await turn
    // a callback from an older tab or another page must not end a sign-in in progress
    if (ours !== undefined) clearCookie(reply, FLOW_COOKIE, 'Lax')
    return redirect(reply, http, request, async () => {
      const { flow, callback } = answerOf(request, http)
      if (!isFirst) throw new SignInError('expired', 'the answer of this flow was used before')
      const identity = await provider.redeem(flow, callback)
      const link = await signInByProvider(gateway, identity, matching, flow.challenge)
      // browsers never send the fragment to a server, so only the gateway's own page can read it
      return `${CONSOLE_PATH}#/sign-in/${link}`
    })
  }

const isChallenge = (value: unknown): value is string => typeof value === 'string' && CHALLENGE.test(value)

const hasChallenge = ({ query }: FastifyRequest): boolean =>
  isChallenge((query as { challenge?: unknown }).challenge)

/**
 * The challenge that the page created before the redirect. The challenge binds the answer to that page.
 *
 * @throws SignInError `expired`
 */
function challengeIn(request: FastifyRequest): string {
  const { challenge } = request.query as { challenge?: unknown }
  if (isChallenge(challenge)) return challenge
  throw new SignInError(
    'expired',
    'the sign-in page of this gateway did not open the address; it adds a challenge',
  )
}

/**
 * The provider's answer, and the flow to which it belongs.
 *
 * @throws SignInError `expired`
 */
function answerOf(request: FastifyRequest, http: HttpDeps): { flow: SealedFlow; callback: URL } {
  const callback = new URL(`${redirectUri(http)}${/\?.*$/s.exec(request.url)?.[0] ?? ''}`)
  const sealed = cookieOf(request, FLOW_COOKIE)
  return { flow: resumeFlow(http.gateway, sealed, callback.searchParams.get('state')), callback }
}

/**
 * The flow of this browser to which the answer belongs; undefined for any other answer. The gateway calls the provider
 * only for the first answer of such a flow.
 */
function flowOf(request: FastifyRequest, http: HttpDeps): ReturnType<typeof answerOf> | undefined {
  try {
    return answerOf(request, http)
  } catch (error) {
    if (error instanceof SignInError) return undefined
    throw error
  }
}

const redirectUri = (http: HttpDeps): string => http.site().url + SESSION.end_single_sign_on.path

function configured({ singleSignOn }: HttpDeps): SingleSignOn {
  if (singleSignOn !== undefined) return singleSignOn
  throw new GatewayError('not_found', 'no identity provider is configured')
}

/** Redirects the browser. Every failure leads to the sign-in page, and its reason is logged. */
async function redirect(
  reply: FastifyReply,
  http: HttpDeps,
  request: FastifyRequest,
  next: () => Promise<string>,
): Promise<void> {
  try {
    reply.header('location', await next())
  } catch (error) {
    const { problem, ...said } = reasonOf(error)
    http.log.warn({ ...lineOf(request), problem, ...said }, 'single sign-on failed')
    http.gateway.observe({ kind: 'sign_in_failed', via: 'oidc', problem })
    reply.header('location', `${CONSOLE_PATH}#/sign-in?problem=${problem}`)
  }
}

const MOST_CAUSES = 5

/** The problem in sentences and codes only, because other details may contain secrets of the sign-in. */
function reasonOf(error: unknown): { problem: SignInProblem; reason: string; causes: string[] } {
  const causes: string[] = []
  let cause = (error as Error).cause
  while (cause instanceof Error && causes.length < MOST_CAUSES) {
    const { code, error: word } = cause as Error & { code?: string; error?: string }
    causes.push([cause.message, code, word].filter((part) => part !== undefined).join(', '))
    cause = cause.cause
  }
  const problem = error instanceof SignInError ? error.problem : 'unavailable'
  return { problem, reason: (error as Error).message, causes }
}
