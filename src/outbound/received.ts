import type { Socket } from 'node:net'

/**
 * Maximum number of bytes on the wire that one attempt may receive. TLS and HTTP/1.1 allow endless bytes that no parser
 * counts, such as renegotiations, blank lines before an answer, or zeros before a chunk. A
 * receiver could send gigabytes of such bytes within a deadline.
 */
export const RECEIVED_BYTES = 2 * 1024 * 1024
/**
 * Time between two looks at the byte count, ms. TLS reads without the event loop's listeners, so no event reports
 * single reads.
 */
const LOOK_MS = 10

/** Calls `over` once, when an attempt has received too many bytes. Returns the function that ends the watch. */
export function watchReceived(wire: Socket, over: () => void): () => void {
  const before = wire.bytesRead
  const timer = setInterval(() => {
    if (wire.bytesRead - before <= RECEIVED_BYTES) return
    clearInterval(timer)
    over()
  }, LOOK_MS)
  return () => clearInterval(timer)
}
