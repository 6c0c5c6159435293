import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../contract/errors.ts'
import type { ThreadsQuery, VoteRequest } from '../contract/reviewer.ts'
import type { Caller } from '../gateway/caller.ts'
import { listThreads } from '../gateway/list-threads.ts'
import { me } from '../gateway/me.ts'
import { showThread } from '../gateway/show-thread.ts'
import { vote } from '../gateway/vote.ts'
import { answer } from './agent.ts'
import { reviewerOf } from './auth.ts'
import { acceptStrictJson } from './body.ts'
import type { HttpDeps } from './deps.ts'

/** The review plane (design.md section 5): other credentials than the agent API, and no token ever crosses it. */
export function reviewerRoutes(app: FastifyInstance, http: HttpDeps): void {
  app.decorateRequest('caller')
  app.addHook('onRequest', async (request) => {
    request.caller = await reviewerOf(request, http)
  })
  acceptStrictJson(app)

  app.get('/me', (request) => Promise.resolve(me(http.gateway, callerOf(request))))

  app.get('/threads', (request) => {
    const query = http.schemas.check<ThreadsQuery>('ThreadsQuery', { ...(request.query as object) })
    return listThreads(http.gateway, callerOf(request), query)
  })

  app.get<ThreadPath>('/threads/:thread_id', async (request, reply) => show(http, request, reply))

  app.post<ThreadPath>('/threads/:thread_id/votes', async (request, reply) => {
    const ballot = {
      thread_id: request.params.thread_id,
      vote: http.schemas.check<VoteRequest>('VoteRequest', request.body),
      ...ifMatch(request),
    }
    answer(reply, await vote(http.gateway, callerOf(request), ballot))
    return show(http, request, reply)
  })
}

interface ThreadPath {
  Params: { thread_id: string }
}

async function show(
  http: HttpDeps,
  request: FastifyRequest<ThreadPath>,
  reply: FastifyReply,
): Promise<object> {
  const view = await showThread(http.gateway, callerOf(request), request.params.thread_id)
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

function callerOf(request: FastifyRequest): Caller {
  if (request.caller === undefined)
    throw new GatewayError('unauthenticated', 'a valid reviewer key is needed')
  return request.caller
}
