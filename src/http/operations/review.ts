import type { REVIEW } from '../../contract/operations/review.ts'
import { defined } from '../../contract/defined.ts'
import { listAgents } from '../../gateway/admin/list-agents.ts'
import { claim, release } from '../../gateway/review/claim.ts'
import { comment } from '../../gateway/review/comment.ts'
import { countThreads } from '../../gateway/review/count-threads.ts'
import { listThreads } from '../../gateway/review/list-threads.ts'
import { listUnreported } from '../../gateway/review/list-unreported.ts'
import { me } from '../../gateway/review/me.ts'
import { lastApproved, precedents } from '../../gateway/review/precedents.ts'
import { showBundle } from '../../gateway/review/show-bundle.ts'
import { reveal } from '../../gateway/review/reveal.ts'
import { showImage } from '../../gateway/review/show-image.ts'
import { showThread } from '../../gateway/review/show-thread.ts'
import { vote } from '../../gateway/review/vote.ts'
import { voteTogether } from '../../gateway/review/vote-together.ts'
import type { Committed } from '../../gateway/core/transact.ts'
import type { HttpDeps } from '../core/deps.ts'
import { type Call, type Handlers, received } from '../core/handler.ts'
import { showAfter } from '../core/problem.ts'
import { streamHandler } from './stream.ts'

/**
 * Handlers of the review plane (docs/review-api.md). The review plane's credentials differ from those of the agent API,
 * and its answers contain no proof.
 */
export const reviewHandlers = (http: HttpDeps): Handlers<typeof REVIEW> => ({
  me: ({ gateway, caller }) => me(gateway, caller),
  list_threads: ({ gateway, caller, query }) => listThreads(gateway, caller, query),
  list_unreported: ({ gateway, caller }) => listUnreported(gateway, caller),
  show_thread: (call) => show(call),

  vote: async (call) => {
    const { gateway, caller, params, body, ifMatch } = call
    const ballot = { ...params, vote: body, ...defined({ shown: ifMatch }) }
    return showChanged(call, await vote(gateway, caller, ballot))
  },

  vote_together: ({ gateway, caller, body }) => voteTogether(gateway, caller, body),

  comment: async (call) => {
    const { gateway, caller, params, body } = call
    return showChanged(call, await comment(gateway, caller, { ...params, text: body.comment }))
  },

  claim: async (call) => {
    const { gateway, caller, params, body } = call
    const taken = { ...params, takeOver: body.take_over ?? false }
    return showChanged(call, await claim(gateway, caller, taken))
  },

  release: async (call) => {
    const { gateway, caller, params } = call
    return showChanged(call, await release(gateway, caller, params.thread_id))
  },

  reveal: async ({ gateway, caller, params, body, reply }) =>
    received(reply, await reveal(gateway, caller, { ...params, number: body.revision })),

  image: async ({ gateway, caller, params, reply }) => {
    const { thread_id, revision, index } = params
    const which = { thread_id, number: ordinal(revision), index: ordinal(index) }
    const { type, bytes } = await showImage(gateway, caller, which)
    reply.headers(IMAGE_HEADERS).type(type)
    return bytes
  },

  last_approved: ({ gateway, caller, params }) => lastApproved(gateway, caller, params.thread_id),
  show_bundle: ({ gateway, caller }) => showBundle(gateway, caller),
  precedents: ({ gateway, caller, params }) => precedents(gateway, caller, params.thread_id),
  count_threads: ({ gateway, caller }) => countThreads(gateway, caller),
  list_agents: ({ gateway, caller }) => listAgents(gateway, caller),
  stream: streamHandler(http),
})

/** Headers with which browsers open an image only as an image of this type. */
const IMAGE_HEADERS = {
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'content-disposition': 'inline; filename="image"',
} as const

/** A number in a path; -1 for anything else. */
function ordinal(text: string): number {
  return /^\d{1,6}$/.test(text) ? Number(text) : -1
}

type OfThread = Pick<Call<(typeof REVIEW)['show_thread']>, 'gateway' | 'caller' | 'params' | 'reply'>

async function show({ gateway, caller, params, reply }: OfThread) {
  const view = await showThread(gateway, caller, params.thread_id)
  reply.header('etag', `"${view.digest}"`)
  return view
}

/** The changed thread and the receipt of the change. */
function showChanged(call: OfThread, changed: Committed<unknown>) {
  received(call.reply, changed)
  return showAfter(() => show(call))
}
