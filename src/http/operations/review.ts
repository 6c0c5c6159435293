import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type {
  ClaimRequest,
  CommentRequest,
  RevealRequest,
  ThreadsQuery,
  VoteRequest,
} from '../../contract/reviewer.ts'
import { claim, release } from '../../gateway/review/claim.ts'
import { comment } from '../../gateway/review/comment.ts'
import { countThreads } from '../../gateway/review/count-threads.ts'
import { listAgents } from '../../gateway/admin/list-agents.ts'
import { listThreads } from '../../gateway/review/list-threads.ts'
import { me } from '../../gateway/review/me.ts'
import { reveal } from '../../gateway/review/reveal.ts'
import { showImage } from '../../gateway/review/show-image.ts'
import { showThread } from '../../gateway/review/show-thread.ts'
import { vote } from '../../gateway/review/vote.ts'
import { answer } from './agent.ts'
import { callerOf, reviewerOf } from '../access/auth.ts'
import { acceptStrictJson } from '../wire/strict-json.ts'
import type { HttpDeps } from '../deps.ts'
import { gatewayFor } from '../tracing.ts'
import { lookBack } from '../problem.ts'
import { streamRoute } from './stream.ts'

/** The review plane (docs/review-api.md): other credentials than the agent API, and no token ever crosses it. */
export function reviewerRoutes(app: FastifyInstance, http: HttpDeps): void {
  app.decorateRequest('caller')
  app.addHook('onRequest', async (request) => {
    request.caller = await reviewerOf(request, http)
  })
  acceptStrictJson(app)

  app.get('/me', (request) => Promise.resolve(me(gatewayFor(request, http), callerOf(request))))

  app.get('/agents', (request) => listAgents(gatewayFor(request, http), callerOf(request)))

  app.get('/counts', (request) => countThreads(gatewayFor(request, http), callerOf(request)))

  app.get('/threads', (request) => {
    const query = http.schemas.check<ThreadsQuery>('ThreadsQuery', { ...(request.query as object) })
    return listThreads(gatewayFor(request, http), callerOf(request), query)
  })

  app.get<ThreadPath>('/threads/:thread_id', async (request, reply) => show(http, request, reply))

  app.post<ThreadPath>('/threads/:thread_id/votes', async (request, reply) => {
    const caller = callerOf(request)
    const ballot = {
      thread_id: request.params.thread_id,
      vote: http.schemas.check<VoteRequest>('VoteRequest', request.body),
      ...ifMatch(request),
    }
    answer(reply, await vote(gatewayFor(request, http), caller, ballot))
    return lookBack(() => show(http, request, reply))
  })

  app.post<ThreadPath>('/threads/:thread_id/comments', async (request, reply) => {
    const { comment: text } = http.schemas.check<CommentRequest>('CommentRequest', request.body)
    answer(reply, await comment(gatewayFor(request, http), callerOf(request), { ...request.params, text }))
    return lookBack(() => show(http, request, reply.code(201)))
  })

  app.post<ThreadPath>('/threads/:thread_id/claim', async (request, reply) => {
    const { take_over: takeOver = false } = http.schemas.check<ClaimRequest>('ClaimRequest', request.body)
    answer(reply, await claim(gatewayFor(request, http), callerOf(request), { ...request.params, takeOver }))
    return lookBack(() => show(http, request, reply))
  })

  app.post<ThreadPath>('/threads/:thread_id/release', async (request, reply) => {
    answer(reply, await release(gatewayFor(request, http), callerOf(request), request.params.thread_id))
    return lookBack(() => show(http, request, reply))
  })

  app.post<ThreadPath>('/threads/:thread_id/reveal', async (request, reply) => {
    const { revision: number } = http.schemas.check<RevealRequest>('RevealRequest', request.body)
    return answer(
      reply,
      await reveal(gatewayFor(request, http), callerOf(request), { ...request.params, number }),
    )
  })

  app.get<ImagePath>('/threads/:thread_id/images/:revision/:index', async (request, reply) => {
    const { thread_id, revision, index } = request.params
    const which = { thread_id, number: ordinal(revision), index: ordinal(index) }
    const { type, bytes } = await showImage(gatewayFor(request, http), callerOf(request), which)
    return reply.headers(IMAGE_HEADERS).type(type).send(bytes)
  })

  streamRoute(app, http)
}

interface ImagePath {
  Params: { thread_id: string; revision: string; index: string }
}

/** What an agent sent is an image of this type and nothing else, wherever it is opened. */
const IMAGE_HEADERS = {
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'content-disposition': 'inline; filename="image"',
} as const

/** A number in a path; what is none names nothing. */
function ordinal(text: string): number {
  return /^\d{1,6}$/.test(text) ? Number(text) : -1
}

interface ThreadPath {
  Params: { thread_id: string }
}

async function show(
  http: HttpDeps,
  request: FastifyRequest<ThreadPath>,
  reply: FastifyReply,
): Promise<object> {
  const view = await showThread(gatewayFor(request, http), callerOf(request), request.params.thread_id)
  reply.header('etag', `"${view.digest}"`)
  return view
}

/** RFC 9110 section 13.1.1, one strong tag: a digest that is shown. `*` names nothing that a person looked at. */
function ifMatch(request: FastifyRequest): { shown?: string } {
  const header = request.headers['if-match']
  if (header === undefined) return {}
  const tag = /^"([^"]*)"$/.exec(header.trim())?.[1]
  return { shown: tag ?? header }
}
