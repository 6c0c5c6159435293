import type { FastifyReply } from 'fastify'
import { GatewayError } from '../../contract/errors.ts'
import { LIMITS } from '../../contract/limits.ts'
import { CHATS } from '../../contract/operations/chats.ts'
import { SignInError } from '../../contract/sign-in-problems.ts'
import { beginFlow, resumeFlow } from '../../gateway/auth/identity-provider.ts'
import type { IdentityProvider, SealedFlow } from '../../gateway/auth/identity-provider.ts'
import { createUsedFlows } from '../../gateway/auth/used-flows.ts'
import { accountsOf, link, listLinks, proposeLink } from '../../gateway/chat/link.ts'
import { unlink } from '../../gateway/chat/unlink.ts'
import { clearCookie, cookieOf, setCookie } from '../access/session-cookie.ts'
import { limitFlows, limitSignIns } from '../access/sign-in-rate.ts'
import type { HttpDeps } from '../core/deps.ts'
import type { Handlers } from '../core/handler.ts'
import { lineOf } from '../core/tracing.ts'

/** `Lax`, because the chat sends the browser back here from its own pages. */
const FLOW_COOKIE = '__Host-countersign-chat'

/** Handlers of linked accounts. The flow begins in a session, and its answer works only there. */
export function chatHandlers(http: HttpDeps): Handlers<typeof CHATS> {
  const used = createUsedFlows()
  const limit = limitFlows(http)
  const redirectUri = (): string => http.site().url + CHATS.end_chat_link.path
  return {
    list_chats: async ({ gateway, caller }) => {
      const linked = await listLinks(gateway, caller)
      return { ...(http.chats && { chat: http.chats.label }), linked }
    },

    start_chat_link: async ({ gateway, caller, request, reply }) => {
      const provider = configured(http)
      if (caller.session === undefined)
        throw new GatewayError('sign_in_required', 'sign in to the console to link an account')
      limit(request, !provider.isKnown())
      http.admission.leave(reply.raw)
      const { flow, sealed } = beginFlow(gateway, JSON.stringify([caller.tenant, caller.keyHash]), 'chat')
      const url = await provider.authorize(flow, redirectUri()).catch((error: unknown) => {
        http.log.warn({ ...lineOf(request), reason: (error as Error).message }, 'no link to the chat')
        throw new GatewayError('store_unavailable', 'the chat does not answer now', { cause: error })
      })
      setCookie(reply, FLOW_COOKIE, sealed, { sameSite: 'Lax', maxAgeSeconds: LIMITS.LINK_MS / 1000 })
      return { url }
    },

    end_chat_link: async ({ gateway, request, reply }) => {
      const provider = configured(http)
      http.admission.leave(reply.raw)
      const callback = new URL(`${redirectUri()}${/\?.*$/s.exec(request.url)?.[0] ?? ''}`)
      try {
        const sealed = cookieOf(request, FLOW_COOKIE)
        const flow = resumeFlow(gateway, sealed, callback.searchParams.get('state'), 'chat')
        if (used.has(flow)) throw new SignInError('expired', 'the answer of this flow was used before')
        used.add(flow, gateway.store.now())
        clearCookie(reply, FLOW_COOKIE, 'Lax')
        const identity = await provider.redeem(flow, callback)
        toConsole(reply, proposeLink(gateway, identity, sessionOf(flow)))
      } catch (error) {
        if (error instanceof SignInError && error.problem === 'expired') limitSignIns(http, 'stranger')
        http.log.warn({ ...lineOf(request), reason: (error as Error).message }, 'no link to the chat')
        toConsole(reply)
      }
    },

    look_at_chat_link: ({ gateway, caller, body }) =>
      Promise.resolve(accountsOf(gateway, caller, body.proposal)),

    link_chat: ({ gateway, caller, body }) => link(gateway, caller, body.proposal),

    unlink_chat: ({ gateway, caller, params }) => unlink(gateway, caller, params),
  }
}

/** Browsers never send the fragment to a server, so only the gateway's own page can read the proposal. */
const toConsole = (reply: FastifyReply, proposal = 'failed'): void => {
  reply.header('location', `/console/#/chats/${proposal}`)
}

function sessionOf({ challenge }: SealedFlow): { tenant: string; session: string } {
  const [tenant, session] = JSON.parse(challenge) as [string, string]
  return { tenant, session }
}

function configured({ chats }: HttpDeps): IdentityProvider {
  if (chats !== undefined) return chats
  throw new GatewayError('not_found', 'no chat is configured')
}
