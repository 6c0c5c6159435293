import type { FastifyRequest } from 'fastify'
import type { Wait } from '../gateway/poll.ts'

/** Requests that are being held: each ends when its caller goes, and all end when the gateway closes. */
export interface Waits {
  /** So many are held that another one is not: a preference is none of ours to keep (RFC 7240 section 2). */
  full(): boolean
  hold(request: FastifyRequest, seconds: number): Wait & { release(): void }
  /** How many requests are held now: polls, and streams, which wait for nothing of their own. */
  held(): { readonly polls: number; readonly streams: number }
  /** Ends every wait: the held polls answer with what they have. */
  endAll(): void
}

const MOST_HELD = 10_000

export function createWaits(): Waits {
  const open = new Set<AbortController>()
  let polls = 0
  let ended = false
  return {
    full: () => open.size >= MOST_HELD,
    hold(request, seconds) {
      const { socket } = request.raw
      const controller = new AbortController()
      const leave = (): void => controller.abort()
      open.add(controller)
      if (seconds > 0) polls += 1
      socket.once('close', leave)
      // gone already, while its credential was looked at: nothing will say so again
      if (ended || socket.destroyed) leave()
      return {
        ms: seconds * 1_000,
        signal: controller.signal,
        release: () => {
          if (open.delete(controller) && seconds > 0) polls -= 1
          socket.off('close', leave)
        },
      }
    },
    held: () => ({ polls, streams: open.size - polls }),
    endAll() {
      ended = true
      for (const controller of open) controller.abort()
    },
  }
}
