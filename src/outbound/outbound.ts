/**
 * Holds: the guard of outgoing connections, in a thread of its own.
 * Imports: system.
 * Start: outbound.ts, then address.ts.
 */
import type { ClientRequest, ClientRequestArgs, IncomingMessage } from 'node:http'
import { Agent, request, type RequestOptions } from 'node:https'
import type { Duplex } from 'node:stream'
import { connected, Failure, type FailureCode, made, type OutboundOptions } from './connection.ts'
import { watchReceived } from './received.ts'
import { checkUrl } from './url.ts'

export type { FailureCode, OutboundOptions }

/**
 * The one way out: whatever of the gateway calls somebody else's server does it through here (docs/webhooks.md). HTTPS only; names are resolved
 * once, every address of the answer must be one that may be called, and the connection goes to those addresses and no other; the peer is looked at again
 * when it is connected. No redirects, no proxies, no decompression, TLS 1.2 or newer, one deadline for everything.
 */
export interface Outbound {
  /** The reason why a URL is refused, in words for the person who gave it; undefined when it may be called. */
  refusalOf(url: string): string | undefined
  post(url: string, sending: Sending): Promise<Sent>
  /**
   * For libraries that call out by `fetch`: GET or POST with text, no redirects, the answer whole and up to a megabyte.
   *
   * @throws TypeError as fetch does, with the FailureCode as its cause
   */
  fetch(url: string, init: FetchInit): Promise<Response>
  /** Lets the connections go that are kept. */
  close(): void
}

export interface Sending {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** For all of it, from the name to the status, ms. */
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
/** What comes after the status is read this long, and to the deadline at most, so that the receiver can end in peace; nothing depends on it. */
const DRAIN_MS = 1_000
const ANSWER_BYTES = 1024 * 1024
const WITHOUT_BODY = [204, 205, 304]
const MAX_INFORMATIONAL = 16
const FIRST_FINAL_STATUS = 200
/** Connections to one receiver that are kept, how long without use, and how long in all: its name may lead elsewhere by then. */
const KEPT_CONNECTIONS = 16
const KEPT_MS = 4_000
const KEPT_IN_ALL_MS = 60_000
const CONNECT_MS = 10_000
/** What a connection says that was closed while nobody looked. */
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
        // a connection that was kept may be gone by now: that is no failure of the receiver, who has no more time for it
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

/** What is left of a deadline that begins now, ms. */
function timeLeft(deadlineMs: number): () => number {
  const end = performance.now() + deadlineMs
  return () => Math.max(0, end - performance.now())
}

/** Keeps a few connections for a moment. Each was checked when it was made, and is not kept for long. */
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

  /** One pool for each URL: what a receiver says on a connection can be taken for no answer but its own. */
  override getName(options: RequestOptions & { readonly pool?: string } = {}): string {
    return `${super.getName(options)}:${options.pool}`
  }

  override keepSocketAlive(socket: Duplex): boolean {
    const young = performance.now() - (made.get(socket)?.at ?? 0) < KEPT_IN_ALL_MS
    // the declaration hides that it answers
    const kept = young && (super.keepSocketAlive(socket) as unknown as boolean)
    if (kept) socket.once('data', unasked)
    return kept
  }

  override reuseSocket(socket: Duplex, outgoing: ClientRequest): void {
    socket.off('data', unasked)
    super.reuseSocket(socket, outgoing)
  }
}

/** Who speaks without being asked is not asked again: it would be the answer to what comes next. */
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
  /** Absent: a connection of its own. */
  readonly agent: GuardedAgent | undefined
}

/** Undefined when a connection that was kept had been closed by the receiver. */
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
      // the parser passes on what is no final status at all; a connection that says so is no use any more
      if ((answer.statusCode ?? 0) < FIRST_FINAL_STATUS) return end(new Failure('protocol'))
      settle()
      // who has answered before hearing everything is told no more, or the rest would wait for ever
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

/** A request without a socket hears of nothing but what `done` is told. */
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

/** The answer's body says nothing that counts: it is read to a limit and let go. */
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
