import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { LIMITS } from '../../contract/limits.ts'

interface Turn {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The state of a connection: whether it serves a request, and the waiting requests. */
interface Line {
  busy: boolean
  readonly waiting: Turn[]
}

/**
 * Serves the requests of a connection one after the other. Only safe requests may run at the same time (RFC 9112
 * section 9.3.2), but Node emits all requests immediately. A request after an answer that ends the connection is never
 * served (section 9.6), because its caller could not learn the result. The current answer is therefore always the first
 * on its connection, and Node emits `close` for it when the caller disconnects. Without that event, a request would
 * keep its place permanently.
 */
export function oneAtATime(serve: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, Line>()
  const begin = (line: Line, { request, response }: Turn): void => {
    line.busy = true
    response.once('close', closed)
    serve(request, response)
  }
  const closed = function (this: ServerResponse): void {
    const { socket } = this.req
    const line = lines.get(socket)
    if (line === undefined) return
    line.busy = false
    const next = socket.writable ? line.waiting.shift() : undefined
    if (next !== undefined) begin(line, next)
    else for (const { response } of line.waiting.splice(0)) closeUnsent(response)
  }
  return (request, response) => {
    const { socket } = request
    let line = lines.get(socket)
    if (line === undefined) lines.set(socket, (line = { busy: false, waiting: [] }))
    if (!line.busy) begin(line, { request, response })
    else if (line.waiting.push({ request, response }) > LIMITS.PIPELINED) socket.destroy()
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
