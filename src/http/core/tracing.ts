import { createTraceState } from '@opentelemetry/api'
import type { FastifyRequest, onRequestHookHandler, onSendHookHandler } from 'fastify'
import type { GatewayError } from '../../contract/errors.ts'
import {
  carried,
  type Origin,
  type Span,
  type TraceContext,
  workOf,
} from '../../gateway/core/trace-context.ts'
import type { HttpDeps } from './deps.ts'

/** The header of the request id, which is in every answer and in every log line of the request. */
export const REQUEST_HEADER = 'countersign-request'

/** The span of a caller that sent a trace, before an operation begins its own. */
export const receivedSpan = (request: FastifyRequest): Span => carried(traceContextOf(request))

interface TraceHooks {
  readonly onRequest: onRequestHookHandler[]
  readonly onSend: onSendHookHandler[]
}

/** The span of an operation. An unauthenticated request has no span, because anyone can send such requests. */
export function traceHooks({ beginSpan }: HttpDeps, operation: string): TraceHooks {
  const work = workOf(operation)
  if (beginSpan === undefined || work === undefined) return { onRequest: [], onSend: [] }
  const begin: onRequestHookHandler = (request, _, done) => {
    request.origin = { request: request.id, span: beginSpan(work, request.origin?.span?.received) }
    done()
  }
  return { onRequest: [begin], onSend: [endWithAnswer] }
}

/**
 * Ends the span with the answer. While the caller is connected, the span includes sending. A response to a disconnected
 * caller never finishes, so the span must not wait for it. Operators look for exactly these calls.
 */
const endWithAnswer: onSendHookHandler = (request, reply, payload, done) => {
  const end = (): void => {
    const { origin, refusal, caller } = request
    if (caller === undefined) origin?.span?.end()
    else origin?.span?.end(refusal && { code: refusal.code, ours: reply.statusCode >= 500 })
  }
  if (reply.raw.destroyed) end()
  else reply.raw.once('close', end)
  done(null, payload)
}

/** Fields of every log line of a request. */
export function lineOf({ id, origin }: FastifyRequest): {
  readonly request: string
  readonly trace_id?: string
} {
  const traceId = origin?.span?.traceId
  return { request: id, ...(traceId === undefined ? {} : { trace_id: traceId }) }
}

/** W3C Trace Context version 00; another version and an invalid tracestate are dropped. */
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
    /** The error that refused the request. */
    refusal?: GatewayError
  }
}
