import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { LIMITS } from '../../contract/limits.ts'

const UNAUTHENTICATED = 401

interface Turn {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The state of a connection: whether it serves a request, the waiting requests, and the last that was read. */
interface Line extends Asked {
  busy: boolean
  readonly waiting: Turn[]
}

/** The last request of a connection, its answer, and the answer before it. Answers are sent in that order. */
export interface Asked {
  request: IncomingMessage
  response: ServerResponse
  /** Only the previous answer, because a client that keeps sending would otherwise build a chain of requests. */
  before: ServerResponse | undefined
}

const lines = new WeakMap<Socket, Line>()

export const askedOn = (socket: Socket): Asked | undefined => lines.get(socket)

/** Waiting requests that begin in one turn of the event loop, over all connections. */
const BEGIN_IN_TURN = 16

const surplus = new WeakSet<IncomingMessage>()

/** True for the first request beyond the limit of its connection, which is refused in its turn and ends it. */
export const isSurplus = (request: IncomingMessage): boolean => surplus.has(request)

/** The part of Node's parser that can stop it in the middle of what it has read. The header is then the last. */
interface Parsed {
  readonly parser?: { onIncoming: () => number } | null
}
const READ_NO_MORE = 2

/**
 * Serves the requests of a connection one after the other. Only safe requests may run at the same time (RFC 9112
 * section 9.3.2), but Node emits all requests immediately. A request after an answer that ends the connection is never
 * served (section 9.6), because its caller could not learn the result. The current answer is therefore always the first
 * on its connection, and Node emits `close` for it when the caller disconnects. Without that event, a request would
 * keep its place permanently.
 *
 * A request that waited begins in a turn of its own. An answer without work, such as a refusal, ends within the turn in
 * which its request began. Without a turn between them, other connections would wait for the whole line.
 */
export function oneAtATime(serve: RequestListener): RequestListener {
  const inTurn = inTurns(({ request, response }) => {
    // the caller may have disconnected before this turn
    if (request.socket.writable) serve(request, response)
    else closeUnsent(response)
  })
  const closed = function (this: ServerResponse): void {
    const { socket } = this.req
    const line = lines.get(socket)
    if (line === undefined) return
    const goesOn = socket.writable && this.statusCode !== UNAUTHENTICATED
    const next = goesOn ? line.waiting.shift() : undefined
    if (next !== undefined) {
      next.response.on('close', closed)
      inTurn(next)
      return
    }
    line.busy = false
    // a caller without a credential sends its next request on a new connection
    if (line.waiting.length > 0) socket.destroySoon()
    for (const { response } of line.waiting.splice(0)) closeUnsent(response)
  }
  return (request, response) => {
    const { socket } = request
    let line = lines.get(socket)
    if (line === undefined)
      lines.set(socket, (line = { busy: false, waiting: [], request, response, before: undefined }))
    else {
      line.before = line.response
      line.request = request
      line.response = response
    }
    if (line.busy) {
      if (line.waiting.push({ request, response }) <= LIMITS.PIPELINED) return
      surplus.add(request)
      readNoMore(socket)
      return
    }
    line.busy = true
    response.on('close', closed)
    serve(request, response)
  }
}

/** Drops further requests, because 64 KiB contain a thousand. The caller's end is still noticed. */
function readNoMore(socket: Socket): void {
  const { parser } = socket as Parsed
  if (parser) parser.onIncoming = () => READ_NO_MORE
}

/** Serves in the order of the calls, a bounded number in each turn of the event loop. */
function inTurns(serve: (turn: Turn) => void): (turn: Turn) => void {
  const due: Turn[] = []
  let woken = false
  const wake = (): void => {
    woken = true
    setImmediate(() => {
      woken = false
      for (const turn of due.splice(0, BEGIN_IN_TURN)) serve(turn)
      if (due.length > 0 && !woken) wake()
    })
  }
  return (turn) => {
    due.push(turn)
    if (!woken) wake()
  }
}

/** Emits `close` once: Node 20 and 22 emit it only for the first answer, Node 24 for all of them. */
function closeUnsent(response: ServerResponse): void {
  if (response.socket !== null) return
  let closed = false
  response.once('close', () => (closed = true))
  response.destroy()
  setImmediate(() => closed || response.emit('close'))
}
