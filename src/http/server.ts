import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import Fastify, { LogController, type FastifyInstance, type FastifyRequest } from 'fastify'
import { GatewayError } from '../contract/errors.ts'
import { verifierKeys } from '../gateway/checkpoints.ts'
import { adminRoutes } from './admin.ts'
import { agentRoutes } from './agent.ts'
import { countOf } from './body.ts'
import { BUILT_CONSOLE, consoleRoutes } from './console.ts'
import type { HttpDeps } from './deps.ts'
import { drainWhileClosing, gatedServer } from './draining.ts'
import { healthRoutes, type Health } from './health.ts'
import { answerMalformed } from './malformed.ts'
import { rememberOrigins } from './origin.ts'
import { answerNotFound, answerProblem } from './problem.ts'
import { reviewerRoutes } from './reviewer.ts'
import { sessionRoutes } from './session.ts'
import { singleSignOnRoutes } from './single-sign-on.ts'
import { watchTraffic } from './traffic.ts'

/** How long a client may take (ms), so that nobody holds a connection for nothing. */
export const TIMEOUTS = {
  REQUEST_MS: 10_000,
  HEADERS_MS: 5_000,
  KEEP_ALIVE_MS: 10_000,
  /** Above the longest `Prefer: wait`. */
  IDLE_SOCKET_MS: 70_000,
  CHECK_EVERY_MS: 1_000,
} as const

const PATH_PART_CHARS = 256
const MAX_URL_CHARS = 8_192

/** The HTTP server: every plane in its own scope with its own credential, one answer shape for every refusal. */
export function createServer(http: HttpDeps, health: Health): FastifyInstance {
  const malformed = answerMalformed(http.watcher)
  const app = Fastify({
    loggerInstance: http.log,
    genReqId: requestIds(),
    // a logger for each request would cost as much as the router; the few lines that are logged carry the id themselves
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: http.bodyBytes,
    exposeHeadRoutes: false,
    requestTimeout: TIMEOUTS.REQUEST_MS,
    connectionTimeout: TIMEOUTS.IDLE_SOCKET_MS,
    keepAliveTimeout: TIMEOUTS.KEEP_ALIVE_MS,
    serverFactory: gatedServer(http.gate, malformed),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    http: {
      headersTimeout: TIMEOUTS.HEADERS_MS,
      connectionsCheckingInterval: TIMEOUTS.CHECK_EVERY_MS,
      // `beforeEverything` looks at it: Node's own refusal would not be a problem document.
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: PATH_PART_CHARS },
    frameworkErrors: (error, request, reply) => {
      void answerProblem(error, request, reply)
    },
    clientErrorHandler: (error, socket) => malformed.answer(error, socket),
    rewriteUrl: refuseOddTargets,
  })
  app.setErrorHandler(answerProblem)
  app.setNotFoundHandler(answerNotFound)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('cache-control', 'no-store')
    const refusal = refusalOf(request)
    if (refusal) reply.header('connection', 'close')
    done(refusal)
  })
  app.decorateRequest('problem')
  rememberOrigins(app, http)
  drainWhileClosing(app, () => http.waits.endAll())
  watchTraffic(app, http)
  app.addHook('onClose', () => {
    http.gate.close()
    return Promise.resolve()
  })
  app.register(scope(agentRoutes, http), { prefix: '/api/agent' })
  app.register(scope(reviewerRoutes, http), { prefix: '/api/review' })
  app.register(scope(sessionRoutes, http), { prefix: '/api/review' })
  app.register(scope(singleSignOnRoutes, http), { prefix: '/api/review' })
  app.register(scope(adminRoutes, http), { prefix: '/api/admin' })
  app.register(scope(healthRoutes, health))
  app.register(scope(consoleRoutes, BUILT_CONSOLE))
  app.get('/.well-known/countersign/keys', () => Promise.resolve(verifierKeys(http.logIdentity)))
  app.get('/openapi.json', (_, reply) => reply.type('application/json').send(http.schemas.document))
  return app
}

/** Unique for each instance and start, and never one that somebody else chose. */
function requestIds(): () => string {
  const instance = randomBytes(6).toString('base64url')
  let count = 0
  return () => `${instance}.${(++count).toString(36)}`
}

function scope<T>(routes: (app: FastifyInstance, deps: T) => void, deps: T) {
  return (app: FastifyInstance, _: object, done: () => void): void => {
    routes(app, deps)
    done()
  }
}

/** Marks a request whose target cannot be one of ours; the router then finds nothing, and the hook says why. */
const ODD_TARGET = '/-/odd-target'

function refuseOddTargets(request: IncomingMessage): string {
  const { url = '' } = request
  return url.startsWith('/') && url.length <= MAX_URL_CHARS && !url.includes('#') ? url : ODD_TARGET
}

/** What is refused whatever the route; the connection ends with it. */
function refusalOf(request: FastifyRequest): GatewayError | undefined {
  if (request.raw.url === ODD_TARGET || !isAcceptable(request))
    return new GatewayError('invalid_request', 'the request line or the Host header is not acceptable')
  const { expect } = request.headers
  if (expect === undefined || expect.trim().toLowerCase() === '100-continue') return undefined
  return new GatewayError('expectation_failed', 'send the request without this Expect header')
}

/** HTTP/1.1 with exactly one Host, or 1.0 with at most one (RFC 9112 section 3.2). */
function isAcceptable(request: FastifyRequest): boolean {
  const hosts = countOf(request, 'host')
  const { httpVersion } = request.raw
  return httpVersion === '1.1' ? hosts === 1 : httpVersion === '1.0' && hosts <= 1
}
