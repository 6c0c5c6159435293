import { createServer, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import { GatewayError } from '../../contract/errors.ts'
import type { Admission } from '../admission/admission.ts'
import type { Malformed } from './parse-errors.ts'
import { oneAtATime } from '../wire/pipelining.ts'

/** Maximum time for each part of closing, ms. */
export const DRAINING = {
  /** Time during which answers end their connections, while new connections are still accepted. */
  LINGER_MS: 250,
  /** Time after which arriving requests are refused. */
  REFUSE_AFTER_MS: 1_000,
  /**
   * The interval at which idle connections are ended once the listener is closed, and the time after which all others
   * are ended.
   */
  REAP_EVERY_MS: 50,
  DRAIN_MS: 8_000,
} as const

/** A server with admission before Fastify, which refused and waiting requests do not reach. */
export function admittingServer(admission: Admission, malformed: Malformed) {
  return (handle: RequestListener, options: FastifyServerOptions): Server => {
    const { http = {}, keepAliveTimeout = 0, requestTimeout = 0, connectionTimeout = 0 } = options as Options
    const server = createServer(http, oneAtATime(admission.serving(handle)))
    // Node would silently drop headers above a certain number; their bytes are limited separately
    server.maxHeadersCount = 0
    // otherwise Node would answer an unknown expectation itself, without a body
    server.on('checkExpectation', (request, response) => server.emit('request', request, response))
    server.on('connect', (_, socket) => refuseTunnel(socket as Socket, malformed))
    server.keepAliveTimeout = keepAliveTimeout
    server.requestTimeout = requestTimeout
    server.setTimeout(connectionTimeout)
    server.on('timeout', endUnlessHeard)
    server.on('connection', () => admission.connected())
    return server
  }
}

/**
 * Ends an idle socket. Node checks the clock before it reads. A request that arrived while the event loop was late must
 * keep the socket open.
 */
function endUnlessHeard(socket: Socket): void {
  const { bytesRead } = socket
  setImmediate(() => {
    if (socket.bytesRead === bytesRead) socket.destroy()
  })
}

/**
 * Answers a CONNECT request, because Node would end the connection without an answer. Node no longer manages the
 * socket, so the gateway ends it.
 */
function refuseTunnel(socket: Socket, malformed: Malformed): void {
  socket.on('error', () => socket.destroy())
  socket.once('finish', () => socket.destroy())
  socket.resume()
  malformed(new Error('CONNECT'), socket)
}

interface Options {
  readonly http?: object
  readonly keepAliveTimeout?: number
  readonly requestTimeout?: number
  readonly connectionTimeout?: number
}

/**
 * Closes the server without a failed request. First, every answer ends its connection while the listener stays open.
 * Clients that have just sent a request on a kept-alive connection are still served. After that, the listener closes,
 * the remaining requests finish, and idle connections are ended.
 */
export function drainWhileClosing(app: FastifyInstance, endWaits: () => void): Draining {
  const draining = { isClosing: false, isLate: false }
  const silent = silentSockets(app)
  const reap = (): void => {
    app.server.closeIdleConnections()
    for (const socket of silent()) socket.destroy()
  }
  app.addHook('preClose', (done) => {
    draining.isClosing = true
    const late = setTimeout(() => (draining.isLate = true), DRAINING.REFUSE_AFTER_MS).unref()
    endWaits()
    // these timers do not keep the process alive, because a server that failed to listen never gets a `close`
    const last = setTimeout(() => app.server.closeAllConnections(), DRAINING.DRAIN_MS).unref()
    let reaper: NodeJS.Timeout | undefined
    app.server.once('close', () => {
      clearInterval(reaper)
      clearTimeout(last)
      clearTimeout(late)
    })
    whenNobodyIsLeft(app, () => {
      reaper = setInterval(reap, DRAINING.REAP_EVERY_MS).unref()
      done()
    })
  })
  return draining
}

/** The state of the shutdown, which each request reads. */
export interface Draining {
  /** Answers end their connections. */
  readonly isClosing: boolean
  /** Arriving requests are refused. */
  readonly isLate: boolean
}

export function shuttingDown(): GatewayError {
  return new GatewayError('shutting_down', 'this gateway is shutting down; nothing was changed', {
    retryAfter: 1,
  })
}

/** Calls `then` immediately when there are no connections, otherwise after the time for late requests. */
function whenNobodyIsLeft(app: FastifyInstance, then: () => void): void {
  app.server.getConnections((_, count) => {
    if (count > 0) setTimeout(then, DRAINING.LINGER_MS)
    else then()
  })
}

/** Finds connections that have had no request for long enough, which Node does not count as idle. */
function silentSockets(app: FastifyInstance): () => Socket[] {
  const open = new Map<Socket, number>()
  app.server.on('connection', (socket: Socket) => {
    open.set(socket, performance.now())
    socket.once('close', () => open.delete(socket))
  })
  return () => {
    const before = performance.now() - DRAINING.LINGER_MS
    return [...open].flatMap(([socket, since]) => (socket.bytesRead === 0 && since < before ? [socket] : []))
  }
}
