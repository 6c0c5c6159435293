import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { defined } from '../../contract/defined.ts'
import type { Operation } from '../../contract/operation.ts'
import { OPERATIONS } from '../../contract/operations/operations.ts'
import { accessHooks } from '../access/access.ts'
import { requireTenant } from '../access/admin-right.ts'
import type { HttpDeps } from '../core/deps.ts'
import type { AdminRight, Handlers } from '../core/handler.ts'
import { adminHandlers } from '../operations/admin.ts'
import { agentHandlers } from '../operations/agent.ts'
import { chatHandlers } from '../operations/chats.ts'
import { type Health, publicHandlers } from '../operations/public.ts'
import { reviewHandlers } from '../operations/review.ts'
import { sessionHandlers } from '../operations/session.ts'
import { webhookHandlers } from '../operations/webhooks.ts'
import { answerProblem, asGatewayError, type ErrorHandler } from '../core/problem.ts'
import { REQUEST_HEADERS } from '../core/request-headers.ts'
import { traceHooks } from '../core/tracing.ts'
import { acceptAnything, acceptStrictJson } from '../wire/strict-json.ts'

/** Registers every operation of the contract as a route, with its callers, body check, handler and answer. */
export function mountOperations(app: FastifyInstance, http: HttpDeps, health: Health): void {
  const handlers: Handlers<typeof OPERATIONS> = {
    ...agentHandlers(http),
    ...reviewHandlers(http),
    ...sessionHandlers(http),
    ...chatHandlers(http),
    ...adminHandlers(http),
    ...webhookHandlers(http),
    ...publicHandlers(http, health),
  }
  const operations = Object.entries<Operation>(OPERATIONS)
  const mountIn = (scope: FastifyInstance, isLenient: boolean): void => {
    for (const [id, operation] of operations) {
      if ((operation.lenient === true) !== isLenient) continue
      scope.route(routeOf(http, [id, operation], handlers[id as keyof typeof handlers] as Handler))
    }
  }
  app.decorateRequest('caller')
  app.decorateRequest('adminRight')
  app.register((scope, _, done) => {
    acceptStrictJson(scope)
    mountIn(scope, false)
    done()
  })
  app.register((scope, _, done) => {
    acceptAnything(scope, http.bodyBytes)
    mountIn(scope, true)
    done()
  })
}

/** Any handler. `Handlers` defines the parameters and answers of each. */
type Handler = (call: object) => unknown

function routeOf(http: HttpDeps, [id, operation]: [string, Operation], handler: Handler): RouteOptions {
  const access = accessHooks(http, operation)
  const trace = traceHooks(http, id)
  const { method, path, lenient = false, noHead = false, bodyBytes } = operation
  const status = Math.min(...Object.keys(operation.answers).map(Number))
  const handle = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> =>
    handler(callOf(http, operation, { request, reply: reply.code(status) }))
  return {
    method,
    url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    exposeHeadRoute: !noHead,
    onRequest: [...trace.onRequest, ...access.onRequest],
    preHandler: access.preHandler,
    onSend: trace.onSend,
    handler: handle,
    ...defined({
      bodyLimit: bodyBytes,
      errorHandler: lenient && method !== 'GET' ? judging(handle) : access.errorHandler,
    }),
  }
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

function callOf({ gateway, schemas }: HttpDeps, operation: Operation, { request, reply }: Exchange): object {
  const { query, lenient = false, headers = [] } = operation
  const call: Record<string, unknown> = {
    gateway: { ...gateway, origin: request.origin },
    caller: request.caller ?? request.adminRight,
    params: request.params,
    // a copy, because Fastify's query object has no prototype
    query: lenient ? undefined : query && schemas.parse(query, { ...(request.query as object) }),
    body: bodyOf(request, operation, schemas),
    request,
    reply,
  }
  if (request.adminRight) requireNamed(request.adminRight, call)
  for (const header of headers) if (header !== 'unattended') call[header] = REQUEST_HEADERS[header](request)
  return call
}

/** Requires the right in the tenant that the query or the body names. */
function requireNamed(right: AdminRight, { query, body }: Record<string, unknown>): void {
  const { tenant } = { ...(query as object), ...(body as object) } as { readonly tenant?: string }
  if (tenant !== undefined) requireTenant(right, tenant)
}

function bodyOf(
  request: FastifyRequest,
  { body, bodyIsOptional, lenient }: Operation,
  schemas: HttpDeps['schemas'],
): unknown {
  if (lenient === true) return request.body
  return body && schemas.parse(body, request.body ?? (bodyIsOptional === true ? {} : undefined))
}

const OF_BODIES = ['body_too_large', 'unsupported_media_type', 'invalid_json', 'invalid_request']

/** Lets the handler judge a malformed body of an authenticated caller. */
function judging(handle: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>): ErrorHandler {
  return async (error, request, reply) => {
    const isJudged = request.caller !== undefined && OF_BODIES.includes(asGatewayError(error).code)
    return isJudged ? handle(request, reply) : answerProblem(error, request, reply)
  }
}
