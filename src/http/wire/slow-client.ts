import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** A connection on which, according to Node, a request did not arrive in time. */
export interface Suspect {
  readonly socket: Socket
  /** The last request whose header was read, if any. */
  readonly last: () => IncomingMessage | undefined
  /** The additional time for a client that was not slow, ms. */
  readonly patienceMs: number
}

/**
 * Calls `blame` when the client itself was slow. Node checks the clock before it reads. Node would therefore answer 408
 * to a request that arrived while the event loop was late, or to a request with an unread body. A client therefore
 * counts as slow only when a turn of the event loop has read no more bytes. A connection without any request ends
 * without an answer, which the client could mistake for the answer to its first request.
 */
export function ifSlow(suspect: Suspect, blame: () => void): void {
  const { socket, last, patienceMs } = suspect
  const first = last()
  const inHeader = first?.complete !== false
  const isWhole = (): boolean => last()?.complete === true && (!inHeader || last() !== first)
  const look = (): void => {
    const { bytesRead } = socket
    setImmediate(() => {
      if (socket.destroyed || isWhole()) return
      if (socket.bytesRead > bytesRead || isUnread(last())) setTimeout(look, patienceMs).unref()
      else if (bytesRead === 0) socket.destroy()
      else blame()
    })
  }
  look()
}

const isUnread = (request: IncomingMessage | undefined): boolean =>
  request?.complete === false && request.readableLength > 0
