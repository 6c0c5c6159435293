import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { LIMITS } from '../../contract/limits.ts'

interface Turn {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** A connection: whether a request on it is being served, and those that came meanwhile. */
interface Line {
  busy: boolean
  readonly behind: Turn[]
}

/**
 * One request of a connection after the other: only safe ones may be served at the same time (RFC 9112 section 9.3.2). Node hands out all of them at once.
 * So what is asked behind an answer that ends the connection is never looked at (section 9.6): nobody would get to know what came of it. And every answer that is
 * under way stands at the head of its connection, where Node tells it when the caller is gone: behind another it would never `close`, and keep its place for good.
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
    const next = socket.writable ? line.behind.shift() : undefined
    if (next !== undefined) begin(line, next)
    else for (const { response } of line.behind.splice(0)) closeUnsent(response)
  }
  return (request, response) => {
    const { socket } = request
    let line = lines.get(socket)
    if (line === undefined) lines.set(socket, (line = { busy: false, behind: [] }))
    if (!line.busy) begin(line, { request, response })
    else if (line.behind.push({ request, response }) > LIMITS.PIPELINED) socket.destroy()
  }
}

/** Node 20 and 22 say it only of the one whose turn it was, Node 24 of all of them; and nobody must hear it twice. */
function closeUnsent(response: ServerResponse): void {
  if (response.socket !== null) return
  let closed = false
  response.once('close', () => (closed = true))
  response.destroy()
  setImmediate(() => closed || response.emit('close'))
}
