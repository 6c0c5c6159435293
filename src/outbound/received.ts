import type { Socket } from 'node:net'

/**
 * What one try may take in, as bytes on the wire. TLS and HTTP/1.1 have much that says nothing, is counted by no parser and need not end: renegotiations,
 * new keys, blank lines before an answer, zeros and extensions before a chunk of one byte. A receiver could send gigabytes of it within a deadline.
 */
export const RECEIVED_BYTES = 2 * 1024 * 1024
/** Nothing tells of single reads: TLS takes them past the event loop's listeners. */
const LOOK_MS = 10

/** Calls `over`, once, when more has come from now on than a try may take in. What it returns ends the watch. */
export function watchReceived(wire: Socket, over: () => void): () => void {
  const before = wire.bytesRead
  const timer = setInterval(() => {
    if (wire.bytesRead - before <= RECEIVED_BYTES) return
    clearInterval(timer)
    over()
  }, LOOK_MS)
  return () => clearInterval(timer)
}
