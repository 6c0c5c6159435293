import { randomUUID } from 'node:crypto'
import Fastify, { LogController, type FastifyInstance } from 'fastify'
import { acceptRequests } from '../wire/wire-guard.ts'
import { BUILT_CONSOLE, consoleRoutes } from '../operations/console-assets.ts'
import type { HttpDeps } from '../core/deps.ts'
import { admittingServer, type Draining, drainWhileClosing, shuttingDown } from './shutdown.ts'
import type { Health } from '../operations/public.ts'
import { mountOperations } from './routes.ts'
import { answerMalformed } from './parse-errors.ts'
import { receivedSpan, REQUEST_HEADER } from '../core/tracing.ts'
import { answerNotFound, answerProblem } from '../core/problem.ts'
import { watchTraffic } from '../core/request-metrics.ts'
import { boundConnections } from '../wire/connections.ts'

/** Time limits of clients, ms. Idle connections end after these times. */
export const TIMEOUTS = {
  REQUEST_MS: 10_000,
  HEADERS_MS: 5_000,
  KEEP_ALIVE_MS: 10_000,
  /** A time longer than the longest `Prefer: wait`. */
  IDLE_SOCKET_MS: 70_000,
  CHECK_EVERY_MS: 1_000,
} as const

const PATH_PART_CHARS = 256
/**
 * `Date` is the time of the store. From this header, the console computes the time until a deadline. The doctor
 * compares it with the machine's clock.
 */
const FOR_PEOPLE = /^\/(?:api\/(?:review|admin)\/|readyz$)/

/** The HTTP server. Every plane has its own scope and its own credential, and every refusal has the same form. */
export function createServer(http: HttpDeps, health: Health): FastifyInstance {
  const malformed = answerMalformed(http.watcher, TIMEOUTS.HEADERS_MS)
  const acceptance = acceptRequests()
  const app = Fastify({
    loggerInstance: http.log,
    // random, because a number would tell a tenant how many requests the others make; clients never choose it
    genReqId: () => randomUUID(),
    // a logger for each request would cost as much as the router; the few log lines contain the id anyway
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: http.bodyBytes,
    exposeHeadRoutes: true,
    requestTimeout: TIMEOUTS.REQUEST_MS,
    connectionTimeout: TIMEOUTS.IDLE_SOCKET_MS,
    keepAliveTimeout: TIMEOUTS.KEEP_ALIVE_MS,
    serverFactory: admittingServer(http.admission, malformed),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    http: {
      headersTimeout: TIMEOUTS.HEADERS_MS,
      connectionsCheckingInterval: TIMEOUTS.CHECK_EVERY_MS,
      // src/http/wire/wire-guard.ts checks the Host header, because Node's own refusal would not be a problem document.
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: PATH_PART_CHARS },
    frameworkErrors: (error, request, reply) => {
      void answerProblem(error, request, reply)
    },
    clientErrorHandler: malformed,
    rewriteUrl: acceptance.targetOf,
  })
  app.setErrorHandler(answerProblem)
  app.setNotFoundHandler(answerNotFound)
  app.decorateRequest('problem').decorateRequest('origin')
  beginAnswers(app, http, { acceptance, draining: drainWhileClosing(app, () => http.waits.endAll()) })
  watchTraffic(app, http)
  boundConnections(app, http.connections)
  app.addHook('preValidation', (_, reply, done) => http.admission.resume(reply.raw, done))
  app.addHook('onClose', () => {
    http.admission.close()
    return Promise.resolve()
  })
  mountOperations(app, http, health)
  app.register((scope, _, done) => {
    consoleRoutes(scope, { built: BUILT_CONSOLE, site: http.site })
    done()
  })
  // every request gets the same bytes, so slow readers need no copies
  const document = Buffer.from(http.schemas.document)
  app.get('/openapi.json', (_, reply) => reply.type('application/json').send(document))
  return app
}

/** Adds headers to each answer, and refuses late requests and requests whose target or framing is invalid. */
function beginAnswers(
  app: FastifyInstance,
  http: HttpDeps,
  { acceptance, draining }: { acceptance: ReturnType<typeof acceptRequests>; draining: Draining },
): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { id, headers } = request
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff')
    reply.header(REQUEST_HEADER, id)
    request.origin = { request: id, span: 'traceparent' in headers ? receivedSpan(request) : undefined }
    if (FOR_PEOPLE.test(request.url)) reply.header('date', new Date(http.gateway.store.now()).toUTCString())
    const refusal = acceptance.refusalOf(request.raw)
    if (refusal) reply.header('connection', 'close')
    if (refusal || draining.isLate) return done(refusal ?? shuttingDown())
    // before its body is read, because anyone can request an unknown path and must hold a place only briefly
    if (request.is404) void answerNotFound(request, reply)
    else done()
  })
  app.addHook('onSend', (_, reply, payload, done) => {
    if (draining.isClosing) reply.header('connection', 'close')
    done(null, payload)
  })
}
