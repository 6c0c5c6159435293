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
import { answer, answerCommitted, type Call, type Handlers, receiptHeaders } from '../core/handler.ts'
import { showAfter } from '../core/problem.ts'
import { streamHandler } from './stream.ts'

/**
 * Handlers of the review plane (docs/review-api.md). The review plane's credentials differ from those of the agent API,
 * and its answers contain no proof.
 */
export const reviewHandlers = (http: HttpDeps): Handlers<typeof REVIEW> => ({
  me: async ({ gateway, caller }) => answer(200, me(gateway, caller)),

  list_threads: async ({ gateway, caller, query }) => answer(200, await listThreads(gateway, caller, query)),

  list_unreported: async ({ gateway, caller }) => answer(200, await listUnreported(gateway, caller)),

  show_thread: async (call) => show(200, call),

  vote: async (call) => {
    const { gateway, caller, params, body, ifMatch } = call
    const ballot = { ...params, vote: body, ...defined({ shown: ifMatch }) }
    return showChanged(200, call, await vote(gateway, caller, ballot))
  },

  vote_together: async ({ gateway, caller, body }) => answer(200, await voteTogether(gateway, caller, body)),

  comment: async (call) => {
    const { gateway, caller, params, body } = call
    return showChanged(201, call, await comment(gateway, caller, { ...params, text: body.comment }))
  },

  claim: async (call) => {
    const { gateway, caller, params, body } = call
    const taken = { ...params, takeOver: body.take_over ?? false }
    return showChanged(200, call, await claim(gateway, caller, taken))
  },

  release: async (call) => {
    const { gateway, caller, params } = call
    return showChanged(200, call, await release(gateway, caller, params.thread_id))
  },

  reveal: async ({ gateway, caller, params, body }) =>
    answerCommitted(200, await reveal(gateway, caller, { ...params, number: body.revision })),

  image: async ({ gateway, caller, params }) => {
    const { thread_id, revision, index } = params
    const which = { thread_id, number: ordinal(revision), index: ordinal(index) }
    const { type, bytes } = await showImage(gateway, caller, which)
    return answer(200, bytes, { ...IMAGE_HEADERS, 'content-type': type })
  },

  last_approved: async ({ gateway, caller, params }) =>
    answer(200, await lastApproved(gateway, caller, params.thread_id)),

  show_bundle: ({ gateway, caller }) => Promise.resolve(answer(200, showBundle(gateway, caller))),

  precedents: async ({ gateway, caller, params }) =>
    answer(200, await precedents(gateway, caller, params.thread_id)),

  count_threads: async ({ gateway, caller }) => answer(200, await countThreads(gateway, caller)),

  list_agents: async ({ gateway, caller }) => answer(200, await listAgents(gateway, caller)),

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

async function show<const Status extends 200 | 201>(status: Status, { gateway, caller, params }: OfThread) {
  const view = await showThread(gateway, caller, params.thread_id)
  return answer(status, view, { etag: `"${view.digest}"` })
}

/** The changed thread and the receipt of the change. */
function showChanged<const Status extends 200 | 201>(
  status: Status,
  call: OfThread,
  changed: Committed<unknown>,
) {
  call.reply.headers(receiptHeaders(changed))
  return showAfter(() => show(status, call))
}
