import { createTraceState } from '@opentelemetry/api'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { GatewayError } from '../contract/errors.ts'
import type { Deps } from '../gateway/deps.ts'
import { carried, type Origin, type Span, type TraceContext } from '../gateway/origin.ts'
import type { HttpDeps } from './deps.ts'

/** In every answer, and in every log line of the request. */
export const REQUEST_HEADER = 'countersign-request'

/** Requests whose work stands in a trace. */
const TRACED: Readonly<Record<string, Parameters<BeginSpan>[0]>> = {
  'POST /api/agent/tasks/:taskID/requests': 'evaluate',
  'POST /api/agent/tasks/:taskID/events': 'revise',
  'GET /api/agent/decisions': 'collect',
  'POST /api/agent/approvals/validate': 'redeem',
  'POST /api/review/threads/:thread_id/votes': 'vote',
}

/** Who asks, for log lines and traces. An unauthenticated request makes no span: anybody can send one. */
export function rememberOrigins(app: FastifyInstance, http: HttpDeps): void {
  app.decorateRequest('origin')
  app.addHook('onRequest', (request, reply, done) => {
    const work = TRACED[`${request.method} ${request.routeOptions.url ?? ''}`]
    const received = traceContextOf(request)
    const span = work === undefined ? carried(received) : http.beginSpan(work, received)
    request.origin = { request: request.id, span }
    reply.header(REQUEST_HEADER, request.id)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { origin, refusal, caller } = request
    if (caller === undefined) origin?.span.end()
    else origin?.span.end(refusal && { code: refusal.code, ours: reply.statusCode >= 500 })
    done()
  })
}

/** The gateway, working for this request. */
export function gatewayFor(request: FastifyRequest, { gateway }: HttpDeps): Deps {
  const { origin } = request
  return origin === undefined ? gateway : { ...gateway, origin }
}

/** What every log line of a request carries. */
export function lineOf({ id, origin }: FastifyRequest): {
  readonly request: string
  readonly trace_id?: string
} {
  const traceId = origin?.span.traceId
  return { request: id, ...(traceId === undefined ? {} : { trace_id: traceId }) }
}

/** W3C Trace Context version 00; anything else is dropped, and so is a tracestate that is none. */
export function traceContextOf({ headers }: FastifyRequest): TraceContext | undefined {
  const { traceparent } = headers
  if (typeof traceparent !== 'string' || !isTraceparent(traceparent)) return undefined
  const { tracestate } = headers
  const state = typeof tracestate === 'string' ? createTraceState(tracestate).serialize() : ''
  return { traceparent, ...(state === '' ? {} : { tracestate: state }) }
}

function isTraceparent(text: string): boolean {
  return /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.test(text)
}

declare module 'fastify' {
  interface FastifyRequest {
    origin?: Origin
    /** What the request was refused with. */
    refusal?: GatewayError
  }
}

export type BeginSpan = (
  work: 'evaluate' | 'revise' | 'collect' | 'redeem' | 'vote',
  received: TraceContext | undefined,
) => Span
