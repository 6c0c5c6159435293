import type { Socket } from 'node:net'

/**
 * The most bytes on the wire that one try may receive. TLS and HTTP/1.1 allow endless bytes that no parser counts:
 * renegotiations, new keys, blank lines before an answer, zeros and extensions before a chunk of one byte. A receiver
 * could send gigabytes of them within a deadline.
 */
export const RECEIVED_BYTES = 2 * 1024 * 1024
/**
 * Time between two looks at the byte count, ms. TLS reads without the event loop's listeners, so no event reports
 * single reads.
 */
const LOOK_MS = 10

/** Calls `over` once, when the wire has received more than a try may. Returns the function that ends the watch. */
export function watchReceived(wire: Socket, over: () => void): () => void {
  const before = wire.bytesRead
  const timer = setInterval(() => {
    if (wire.bytesRead - before <= RECEIVED_BYTES) return
    clearInterval(timer)
    over()
  }, LOOK_MS)
  return () => clearInterval(timer)
}
