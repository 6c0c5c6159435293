import { createTraceState } from '@opentelemetry/api'
import type { FastifyInstance, FastifyRequest, onSendHookHandler } from 'fastify'
import type { GatewayError } from '../contract/errors.ts'
import type { Deps } from '../gateway/core/deps.ts'
import { carried, type Origin, type TraceContext } from '../gateway/core/trace-context.ts'
import type { HttpDeps, Work } from './deps.ts'

/** In every answer, and in every log line of the request. */
export const REQUEST_HEADER = 'countersign-request'

/** Requests whose work stands in a trace. */
const TRACED: Readonly<Partial<Record<string, Work>>> = {
  'POST /api/agent/tasks/:taskID/requests': 'evaluate',
  'POST /api/agent/tasks/:taskID/events': 'revise',
  'GET /api/agent/decisions': 'collect',
  'POST /api/agent/approvals/validate': 'redeem',
  'POST /api/review/threads/:thread_id/votes': 'vote',
}

/** Who asks, for log lines and traces. An unauthenticated request makes no span: anybody can send one. */
export function rememberOrigins(app: FastifyInstance, { beginSpan }: HttpDeps): void {
  app.decorateRequest('origin')
  app.addHook('onRequest', (request, reply, done) => {
    const work = beginSpan && workOf(request.method, request.routeOptions.url)
    const received = traceContextOf(request)
    const span = work === undefined || !beginSpan ? carried(received) : beginSpan(work, received)
    request.origin = { request: request.id, span }
    reply.header(REQUEST_HEADER, request.id)
    done()
  })
  if (!beginSpan) return
  app.addHook('onRoute', (route) => {
    if (workOf(String(route.method), route.url) === undefined) return
    route.onSend = [...[route.onSend ?? []].flat(), endWithAnswer]
  })
}

const workOf = (method: string, url = ''): Work | undefined => TRACED[`${method} ${url}`]

/**
 * The work is over when its answer is there; the span takes the sending in, where there is somebody left to send it to. Who is gone finishes no response, so that there
 * is no other moment for both: a call whose caller did not wait is the one that somebody looks for.
 */
const endWithAnswer: onSendHookHandler = (request, reply, payload, done) => {
  const end = (): void => {
    const { origin, refusal, caller } = request
    if (caller === undefined) origin?.span.end()
    else origin?.span.end(refusal && { code: refusal.code, ours: reply.statusCode >= 500 })
  }
  if (reply.raw.destroyed) end()
  else reply.raw.once('close', end)
  done(null, payload)
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
function traceContextOf({ headers }: FastifyRequest): TraceContext | undefined {
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
