import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorCode } from '../../contract/errors.ts'
import type { Sight } from '../admission/admission.ts'
import type { HttpDeps, HttpObservation } from './deps.ts'

/** The route label of requests that match no route. */
export const NO_ROUTE = 'none'

/** The current numbers of requests, connections and held requests. */
export interface Traffic extends Sight {
  readonly requests: number
  readonly connections: number
  readonly polls: number
  readonly streams: number
}

/** Reports every route and every request to the watcher, and counts open requests. */
export function watchTraffic(app: FastifyInstance, { watcher, waits, admission }: HttpDeps): void {
  let requests = 0
  let connections = 0
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) if (one !== 'HEAD') watcher.route({ method: one, route: url })
  })
  app.addHook('onResponse', (request, reply, done) => {
    watcher.answered(observationOf(request, reply))
    done()
  })
  const closed = function (this: ServerResponse): void {
    requests -= 1
    if (!this.writableFinished) watcher.aborted()
  }
  app.server.on('request', (_, response) => {
    requests += 1
    // uses one function for all requests, because a closure for each request would be the most expensive part of
    // counting
    response.on('close', closed)
  })
  app.server.on('connection', (socket) => {
    connections += 1
    socket.once('close', () => (connections -= 1))
  })
  app.decorate('traffic', () => ({ requests, connections, ...waits.held(), ...admission.sight() }))
}

function observationOf(request: FastifyRequest, reply: FastifyReply): HttpObservation {
  return {
    // a HEAD request counts as a GET
    method: request.method === 'HEAD' ? 'GET' : request.method,
    route: request.routeOptions.url ?? NO_ROUTE,
    status: reply.statusCode,
    seconds: reply.elapsedTime / 1000,
    problem: request.problem,
    traceparent: request.origin?.span?.received?.traceparent,
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The code of the problem document in the answer. */
    problem?: ErrorCode
  }
  interface FastifyInstance {
    traffic(): Traffic
  }
}
