import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, GatewayError, problemOf } from '../../contract/errors.ts'
import { lineOf, REQUEST_HEADER } from './tracing.ts'

/** Answers an error of one route; fastify awaits it. */
export type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** Answers any error as `application/problem+json` (RFC 9457). Only the log contains the cause. */
export function answerProblem(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const known = asGatewayError(error)
  const problem = problemOf(known)
  request.problem = known.code
  request.refusal = known
  if (problem.status >= 500) logCause(error, known, request)
  // sets these headers here, too, because some refusals happen before the first hook
  reply.header('cache-control', 'no-store').header(REQUEST_HEADER, request.id)
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer')
  if (known.retryAfter !== undefined)
    reply.header('retry-after', String(Math.max(1, Math.ceil(known.retryAfter))))
  return reply.code(problem.status).type('application/problem+json').send(JSON.stringify(problem))
}

function logCause(error: unknown, known: GatewayError, request: FastifyRequest): void {
  const facts = { ...lineOf(request), route: request.routeOptions.url, code: known.code }
  const cause = known.cause ?? error
  // logs only the reason while the store or its tiles are unreachable, because every request has a log line and the
  // timer reports the outage
  const said = ['store_unavailable', 'tiles_unavailable'].includes(known.code)
    ? { reason: reasonOf(cause) }
    : { err: cause }
  request.log.error({ ...facts, ...said }, known.message)
}

/** The messages of the error and of its causes. */
function reasonOf(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : { message: String(error), cause: undefined }
  return cause === undefined ? message : `${message}: ${reasonOf(cause)}`
}

/** The gateway's messages for refusals by Fastify. */
const FROM_FASTIFY: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['body_too_large', 'the body is larger than this gateway accepts'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'send application/json; charset=utf-8'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'invalid_request',
    'the length of the body differs from Content-Length',
  ],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['invalid_json', 'the body is empty'],
  FST_ERR_BAD_URL: ['invalid_request', 'the path is not valid'],
  FST_ERR_MAX_PARAM_LENGTH: ['invalid_request', 'a part of the path is too long'],
}

export function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  const { code = '', statusCode } = (error ?? {}) as Partial<FastifyError>
  const [ours, detail] = FROM_FASTIFY[code] ?? []
  if (ours !== undefined && detail !== undefined) return new GatewayError(ours, detail, { cause: error })
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new GatewayError('invalid_request', 'the request cannot be read', { cause: error })
  }
  return new GatewayError('internal', 'an internal error occurred; the log has the cause', { cause: error })
}

const RETRY_AFTER_SECONDS = 1

/**
 * Returns the result of an act that has taken effect. An error at this point must not suggest that the act has failed.
 */
export async function showAfter<T>(show: () => Promise<T>): Promise<T> {
  try {
    return await show()
  } catch (cause) {
    const detail = 'the request took effect, but its result cannot be shown now'
    throw new GatewayError('outcome_unknown', detail, { retryAfter: RETRY_AFTER_SECONDS, cause })
  }
}

export function answerNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return answerProblem(new GatewayError('not_found', 'no such route'), request, reply)
}
