import type { ClientRequest, ClientRequestArgs, IncomingMessage } from 'node:http'
import { Agent, request, type RequestOptions } from 'node:https'
import type { Duplex } from 'node:stream'
import { connected, Failure, type FailureCode, made, type OutboundOptions } from './connection.ts'
import { watchReceived } from './received.ts'
import { checkUrl } from './url.ts'

export type { FailureCode, OutboundOptions }

/**
 * The guard of outgoing connections. Every request of the gateway to another server passes this guard
 * (docs/webhooks.md). The guard allows only HTTPS with TLS 1.2 or newer. The guard resolves a name once, and every
 * address in the answer must be permitted. The guard connects only to those addresses, and checks the peer again once
 * connected. The guard does not follow redirects, use proxies or decompress answers. One deadline covers the whole
 * exchange.
 */
export interface Outbound {
  /** The reason why a URL is refused, in words for the person who gave it; undefined when it may be called. */
  refusalOf(url: string): string | undefined
  post(url: string, sending: Sending): Promise<Sent>
  /**
   * The guard for libraries that make requests with `fetch`. The guard sends GET or POST with text, and does not follow
   * redirects. The result is the whole answer, of at most 1 MiB.
   *
   * @throws TypeError, like fetch, with the FailureCode as its cause
   */
  fetch(url: string, init: FetchInit): Promise<Response>
  /** Closes the kept connections. */
  close(): void
}

export interface Sending {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Deadline for all steps from the name lookup to the status, ms. */
  readonly deadlineMs: number
  readonly signal?: AbortSignal
}

export interface FetchInit {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly deadlineMs: number
  readonly signal?: AbortSignal
}

export type Sent =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfter?: string }
  | { readonly kind: 'failed'; readonly code: FailureCode }

const HEADER_BYTES = 16 * 1024
const BODY_BYTES = 64 * 1024
/**
 * Time to continue reading after the status, ms, within the deadline, so that the receiver can finish. The result does
 * not depend on this time.
 */
const DRAIN_MS = 1_000
const ANSWER_BYTES = 1024 * 1024
const WITHOUT_BODY = [204, 205, 304]
const MAX_INFORMATIONAL = 16
const FIRST_FINAL_STATUS = 200
/**
 * Bounds of kept connections: their number for one receiver, their idle time and their age, because the name may
 * resolve elsewhere by then.
 */
const KEPT_CONNECTIONS = 16
const KEPT_MS = 4_000
const KEPT_IN_ALL_MS = 60_000
const CONNECT_MS = 10_000
/** Error codes of a kept connection that the receiver closed while it was idle. */
const STALE = /^(ECONNRESET|EPIPE)$/

export function createOutbound(options: OutboundOptions): Outbound {
  const { allowed, named } = options
  const agent = new GuardedAgent(options)
  return {
    refusalOf(url) {
      const checked = checkUrl(url, allowed, named)
      return checked.ok ? undefined : checked.reason
    },
    async post(url, sending) {
      const checked = checkUrl(url, allowed, named)
      if (!checked.ok) return failed('refused_url')
      const call = { ...checked, options, method: 'POST', sending, agent }
      const left = timeLeft(sending.deadlineMs)
      try {
        // a kept connection may have been closed; this is not a failure of the receiver, and the deadline does not
        // start again
        const answer =
          (await send(call)) ??
          (await send({ ...call, sending: { ...sending, deadlineMs: left() }, agent: undefined }))
        if (answer === undefined) return failed('connection')
        drain(answer, Math.min(DRAIN_MS, left()))
        return answered(answer)
      } catch (error) {
        return failed(failureOf(error))
      }
    },
    async fetch(url, { method, body = '', ...sending }) {
      const checked = checkUrl(url, allowed, named)
      if (!checked.ok) throw new TypeError(checked.reason, { cause: 'refused_url' })
      const call = { ...checked, options, method, sending: { ...sending, body }, agent: undefined }
      const left = timeLeft(sending.deadlineMs)
      try {
        const answer = await send(call)
        if (answer === undefined) throw new Failure('connection')
        return await wholeAnswer(answer, left())
      } catch (error) {
        throw new TypeError('fetch failed', { cause: failureOf(error) })
      }
    },
    close: () => agent.destroy(),
  }
}

/**
 * Opens a guarded connection for a protocol above TLS, such as WebSocket. `url` is its address with `https:`.
 *
 * @throws TypeError
 */
export async function openGuarded(url: string, options: OutboundOptions, withinMs: number): Promise<Duplex> {
  const checked = checkUrl(url, options.allowed, options.named)
  if (!checked.ok) throw new TypeError(checked.reason, { cause: 'refused_url' })
  return connected({ ...checked, options, withinMs })
}

/** The remaining time of a deadline that starts now, ms. */
function timeLeft(deadlineMs: number): () => number {
  const end = performance.now() + deadlineMs
  return () => Math.max(0, end - performance.now())
}

/** Keeps a few connections for a short time. The guard checked each connection when it was opened. */
class GuardedAgent extends Agent {
  readonly #options: OutboundOptions

  constructor(options: OutboundOptions) {
    super({ keepAlive: true, maxFreeSockets: KEPT_CONNECTIONS, timeout: KEPT_MS })
    this.#options = options
  }

  override createConnection(
    { host, port, withinMs = CONNECT_MS }: ClientRequestArgs & { readonly withinMs?: number },
    done: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    const where = { host: String(host).replace(/^\[|\]$/g, ''), port: Number(port), options: this.#options }
    connected({ ...where, withinMs: Math.min(withinMs, CONNECT_MS) }).then(
      (socket) => done(null, socket),
      (error: Error) => done(error, NO_SOCKET),
    )
  }

  /** Each URL has a separate pool, so that bytes on a connection can only be read as an answer of its own receiver. */
  override getName(options: RequestOptions & { readonly pool?: string } = {}): string {
    return `${super.getName(options)}:${options.pool}`
  }

  override keepSocketAlive(socket: Duplex): boolean {
    const young = performance.now() - (made.get(socket)?.at ?? 0) < KEPT_IN_ALL_MS
    // the type declaration hides the return value
    const kept = young && (super.keepSocketAlive(socket) as unknown as boolean)
    if (kept) socket.once('data', unasked)
    return kept
  }

  override reuseSocket(socket: Duplex, outgoing: ClientRequest): void {
    socket.off('data', unasked)
    super.reuseSocket(socket, outgoing)
  }
}

/**
 * Closes a connection whose receiver sends data without a request, because the data would look like the next answer.
 */
function unasked(this: Duplex): void {
  this.destroy()
}

const failed = (code: FailureCode): Sent => ({ kind: 'failed', code })

const failureOf = (error: unknown): FailureCode => (error instanceof Failure ? error.code : codeOf(error))

const NO_SOCKET = undefined as unknown as Duplex

interface Call {
  readonly url: URL
  readonly host: string
  readonly port: number
  readonly options: OutboundOptions
  readonly method: string
  readonly sending: Sending
  /** Undefined for a connection that is not kept. */
  readonly agent: GuardedAgent | undefined
}

/** Sends the call. Resolves with undefined when the receiver had closed a kept connection. */
function send(call: Call): Promise<IncomingMessage | undefined> {
  const { url, method, sending, agent } = call
  return new Promise((resolve, reject) => {
    const outgoing: ClientRequest = request(url, {
      method,
      ...(agent === undefined ? {} : { agent, pool: url.href, withinMs: sending.deadlineMs }),
      headers: { ...sending.headers, ...lengthOf(method, sending.body) },
      maxHeaderSize: HEADER_BYTES,
      insecureHTTPParser: false,
      ...(agent === undefined ? { createConnection: connectFor(call, () => outgoing.destroyed) } : {}),
    })
    const end = (failure: Error): void => {
      outgoing.destroy(failure)
      reject(failure)
    }
    const timer = setTimeout(() => end(new Failure('timeout')), sending.deadlineMs)
    const stop = (): void => end(new Failure('stopped'))
    sending.signal?.addEventListener('abort', stop, { once: true })
    const settle = (): void => {
      clearTimeout(timer)
      sending.signal?.removeEventListener('abort', stop)
    }
    const over = (): void => end(new Failure('protocol'))
    outgoing.on('socket', (socket) => {
      const wire = made.get(socket)?.wire
      if (wire !== undefined) outgoing.once('close', watchReceived(wire, over))
    })
    let informational = 0
    outgoing.on('information', () => {
      informational += 1
      if (informational > MAX_INFORMATIONAL) end(new Failure('protocol'))
    })
    outgoing.on('upgrade', (_, socket) => {
      socket.destroy()
      end(new Failure('protocol'))
    })
    outgoing.on('response', (answer) => {
      // the parser passes on statuses that are not final; such a connection cannot be used again
      if ((answer.statusCode ?? 0) < FIRST_FINAL_STATUS) return end(new Failure('protocol'))
      settle()
      // a receiver that answers before it has read everything gets no more data, because the request would otherwise
      // wait forever
      answer.once('close', () => outgoing.writableFinished || outgoing.destroy())
      resolve(answer)
    })
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      settle()
      if (outgoing.reusedSocket && STALE.test(error.code ?? '')) resolve(undefined)
      else reject(error)
    })
    if (sending.signal?.aborted === true) stop()
    outgoing.end(sending.body)
  })
}

function lengthOf(method: string, body: string): Record<string, string> {
  return method === 'GET' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
}

async function wholeAnswer(answer: IncomingMessage, deadlineMs: number): Promise<Response> {
  const timer = setTimeout(() => answer.destroy(new Failure('timeout')), deadlineMs)
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > ANSWER_BYTES) throw new Failure('protocol')
      chunks.push(chunk)
    }
  } finally {
    clearTimeout(timer)
  }
  const { statusCode: status = 0, headers } = answer
  const single = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' ? [[name, value]] : [],
  )
  const empty = WITHOUT_BODY.includes(status)
  return new Response(empty ? null : Buffer.concat(chunks), { status, headers: single })
}

/** Opens the socket of a request. Until the request has it, only `done` reports failures to the request. */
function connectFor({ host, port, options, sending }: Call, isGone: () => boolean) {
  return (_: object, done: (error: Error | null, socket: Duplex) => void): undefined => {
    connected({ host, port, options, withinMs: sending.deadlineMs }).then(
      (socket) => (isGone() ? socket.destroy() : done(null, socket)),
      (error: Error) => done(error, NO_SOCKET),
    )
  }
}

function answered({ statusCode = 0, headers }: IncomingMessage): Sent {
  const retryAfter = headers['retry-after']
  return { kind: 'answered', status: statusCode, ...(retryAfter === undefined ? {} : { retryAfter }) }
}

/** Reads the body of the answer up to a limit and discards it. */
function drain(answer: IncomingMessage, withinMs: number): void {
  let bytes = 0
  const timer = setTimeout(() => answer.destroy(), withinMs)
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > BODY_BYTES) answer.destroy()
  })
  answer.on('error', () => undefined)
  answer.on('close', () => clearTimeout(timer))
}

const NETWORK = /^(ECONN|EPIPE|EHOST|ENET|EADDR|ETIMEDOUT|EAI|ENOTFOUND)/

function codeOf(error: unknown): FailureCode {
  const { code = '' } = error as NodeJS.ErrnoException
  if (code.startsWith('HPE_')) return 'protocol'
  if (NETWORK.test(code)) return 'connection'
  return /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_|SELF_SIGNED|UNABLE_|EPROTO)/.test(code) ? 'tls' : 'protocol'
}
